"""A support desk's export, made up: customers, macros, free text, e-mail addresses, order numbers, amounts, dates."""

from __future__ import annotations

import csv
import random
import sys
from datetime import date, timedelta
from pathlib import Path

__all__ = ["COLUMNS", "tickets", "write_desk"]

COLUMNS = (
    "ticket_id", "opened", "customer", "email", "subject", "body", "reply", "category", "amount", "rating",
)  # fmt: skip


def _words(listed: str) -> list[str]:
    return listed.split()


_FIRST = _words(
    "Anna Ben Carla David Emma Frank Grace Henry Irene Jack Karen Liam Maria Noah Olga Peter Quinn Rosa Simon Tara "
    "Victor Wendy Yusuf Zoe Martin Julia Oscar Helen Bruno Clara"
)
_LAST = _words(
    "Miller Okafor Schmidt Rossi Novak Tanaka Larsen Dubois Silva Kowalski Murphy Haddad Jensen Moreau Weber Costa "
    "Singh Walker Fischer Romero Bakker Evans Lindgren Petrov Marsh Doyle Keller Vargas Nolan Fry"
)
_PLACES = _words("Bristol Lyon Hamburg Porto Krakow Oslo Turin Ghent Leeds Malmo Basel Cork Split Graz Utrecht Seville")
_THINGS = _words(
    "printer router laptop monitor keyboard headset charger tablet camera speaker scanner projector phone watch drone "
    "thermostat doorbell kettle vacuum lamp"
)
_FEELINGS = _words(
    "annoyed worried disappointed confused upset tired surprised hopeful angry patient frustrated calm relieved"
)
_TASKS = _words(
    "lecture meeting holiday wedding exam move surgery interview concert deadline birthday conference funeral audit"
)
_FAULTS = {
    "hardware": (
        "the {thing} stopped working after {n} days", "the screen of my {thing} is cracked",
        "my {thing} overheats and smells of smoke", "the battery of the {thing} no longer charges",
        "the {thing} makes a loud noise every morning",
    ),
    "billing": (
        "I was charged {money} twice for one {thing}", "the invoice of {day} shows the wrong address",
        "my refund of {money} has not arrived", "your shop took {money} from my card without asking",
        "the discount on the {thing} is missing from my bill",
    ),
    "delivery": (
        "the parcel with my {thing} never reached {place}", "the courier left the {thing} in the rain",
        "I received a {thing} although I had ordered a {other}", "the tracking page has shown nothing since {day}",
        "the box was open and the {thing} was gone",
    ),
    "account": (
        "I cannot sign in since I moved to {place}", "please delete my account and all my orders",
        "somebody changed my password during the night", "the code you sent to {phone} does not work",
        "my new address in {place} is not accepted",
    ),
}  # fmt: skip
_ASIDES = (
    "I need it for a {task} in {place} next week.", "My doctor told me to avoid stress, and this does not help.",
    "My daughter is {feeling} and so am I.", "I have been a customer since {year}, and I am {feeling}.",
    "I lost my job in {month} and cannot pay twice.", "My husband {first} has called you {n} times already.",
    "We live on a farm near {place} where the signal is poor.", "I am writing from the hospital in {place}.",
    "My lawyer will hear of this.", "The neighbours in {place} had the same trouble with a {other}.",
)  # fmt: skip
_WHO = _words(
    "mother brother neighbour colleague landlord teacher nurse cousin manager partner grandfather student driver "
    "friend sister boss tenant dentist accountant pianist"
)
_DID = _words(
    "dropped borrowed opened cleaned ordered repaired painted packed returned tested carried moved unplugged lost "
    "bought noticed measured photographed soaked scratched"
)
_PARTS = _words(
    "cable lid handle button hinge manual filter sensor strap lens plug cover wheel spring adapter label box valve "
    "speaker antenna"
)
_HOW = _words(
    "yesterday twice carefully outside again slowly upstairs overnight accidentally together quickly abroad suddenly "
    "downstairs quietly indoors"
)
_STATES = _words(
    "loose warm empty dusty broken silent wet heavy noisy bent missing rusty sticky dark blue strange useless cheap "
    "slippery sharp"
)
_FREE = (
    "My {who} {did} the {part} {how} and found it {state}.", "The {part} felt {state} when my {who} {did} it {how}.",
    "Since {month} every {part} of this {thing} looks {state} to my {who}.",
    "A {state} {part} and a {state2} {other} are of no use to a {who}.",
    "Before the {task} my {who} {how} {did} a {state} {thing}.", "Is a {state} {part} normal for any {thing}?",
    "My {who} in {place} {did} another {part} {how}, which was {state} too.",
)  # fmt: skip
_MONTHS = _words("January February March April May June July August September October November December")
_MACRO = (
    "Hello {first},\n\nThank you for contacting customer support. We are sorry to hear about the trouble with your "
    "order {order}. {middle} If you have any further questions, please reply to this message within fourteen days and "
    "one of our specialists will be happy to help.\n\nKind regards,\n{agent}\nCustomer Support"
)
_MIDDLES = {
    "hardware": "We have arranged a replacement, and the courier will collect the broken {thing} at your door.",
    "billing": "The amount of {money} will be returned to your card within five working days.",
    "delivery": "We have asked the courier to look for the parcel, and will send another {thing} if it stays lost.",
    "account": "We have sent a link to {email}, with which you can choose a new password.",
}


def tickets(count: int = 2000, seed: int = 0) -> list[dict[str, str]]:
    """Make up some tickets; about every third is of a customer who wrote before."""
    pick = random.Random(seed)
    people: list[tuple[str, str, str]] = []
    rows = []
    for number in range(count):
        if not people or pick.random() < 0.65:
            first, last = pick.choice(_FIRST), pick.choice(_LAST)
            mail = f"{first}.{last}{pick.randint(1, 99)}@{pick.choice(['mail', 'post', 'inbox'])}.example".lower()
            people.append((first, last, mail))
        first, last, mail = pick.choice(people[-400:])
        category = pick.choice(list(_FAULTS))
        opened = date(2025, 1, 1) + timedelta(days=pick.randint(0, 500))
        cents = pick.randint(500, 90_000)
        fill = {
            "first": pick.choice(_FIRST), "thing": pick.choice(_THINGS), "other": pick.choice(_THINGS),
            "place": pick.choice(_PLACES), "n": pick.randint(2, 40), "money": f"€{cents / 100:.2f}",
            "day": f"{pick.randint(1, 28)} {pick.choice(_MONTHS)}", "year": pick.randint(2009, 2024),
            "month": pick.choice(_MONTHS), "task": pick.choice(_TASKS), "feeling": pick.choice(_FEELINGS),
            "phone": f"+44 20 7946 {pick.randint(0, 999):04d}", "email": mail,
        }  # fmt: skip
        free = []
        for sentence in pick.choices(_FREE, k=pick.randint(1, 4)):
            fill |= {
                "who": pick.choice(_WHO), "did": pick.choice(_DID), "part": pick.choice(_PARTS),
                "how": pick.choice(_HOW), "state": pick.choice(_STATES), "state2": pick.choice(_STATES),
                "other": pick.choice(_THINGS), "place": pick.choice(_PLACES), "task": pick.choice(_TASKS),
            }  # fmt: skip
            free.append(sentence.format(**fill))
        fault = pick.choice(_FAULTS[category]).format(**fill)
        aside = pick.choice(_ASIDES).format(**fill)
        order = f"AB-{pick.randint(10_000, 99_999)}"
        reach = pick.choice([f"You can reach me at {mail}.", f"Call me on {fill['phone']}.", ""])
        end = f"{first} {last}, {pick.choice(_PLACES)}. Thanks, {first}"
        body = f"Hello, {fault} (order {order}). {' '.join(free)} {aside} {reach} {end}"
        middle = _MIDDLES[category].format(**fill)
        reply = _MACRO.format(first=first, order=order, middle=middle, agent=pick.choice(_FIRST))
        values = (
            f"T{100_000 + number}", opened.isoformat(), f"{first} {last}", mail, fault.capitalize(), body, reply,
            category, f"{cents / 100:.2f}", str(pick.randint(1, 5)),
        )  # fmt: skip
        rows.append(dict(zip(COLUMNS, values, strict=True)))
    return rows


def write_desk(path: Path, count: int = 2000, seed: int = 0) -> Path:
    """Write the export as CSV."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(tickets(count, seed))
    return path


if __name__ == "__main__":  # python -m tests.plan.desk tickets.csv
    write_desk(Path(sys.argv[1]))
