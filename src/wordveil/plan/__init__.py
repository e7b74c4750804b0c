"""Plans a release: what an input contains, what attackers find and readers keep of it, and what to do.

`survey` looks at every record once (`columns` and `records`, in bounded memory by `sketches`), `trial` attacks a
sample, `presets` choose an ε by protection, `recommendation` has the rules and `gates` the requirements, and `release`
puts everything together.
"""

from wordveil.plan.gates import FIGURES, Gate, Verdict
from wordveil.plan.presets import PROTECTION
from wordveil.plan.recommendation import RULES, Advice, Recommendation
from wordveil.plan.release import DEFAULT_PROTECTION, ReleasePlan, epsilon_for, plan_release
from wordveil.plan.survey import Survey
from wordveil.plan.trial import Attack, Trial

__all__ = [
    "DEFAULT_PROTECTION",
    "FIGURES",
    "PROTECTION",
    "RULES",
    "Advice",
    "Attack",
    "Gate",
    "Recommendation",
    "ReleasePlan",
    "Survey",
    "Trial",
    "Verdict",
    "epsilon_for",
    "plan_release",
]
