"""A filter on a pandas column: ``python examples/pandas_column.py``."""

from __future__ import annotations

import pandas as pd

import wordveil


def veil_column(table: pd.DataFrame, column: str, veil: wordveil.Veil) -> pd.DataFrame:
    """Return the table with one column veiled; cells that are empty stay empty."""
    filled = table[column].notna()
    veiled = [release.text for release in veil.many(table.loc[filled, column])]
    return table.assign(**{column: table[column].mask(filled, pd.Series(veiled, index=table.index[filled]))})


def main() -> None:
    """Veil the answers of a small survey."""
    table = pd.DataFrame(
        {
            "id": [1, 2, 3],
            "answer": ["The nurses were kind.", None, "We waited four hours for a doctor."],
        }
    )
    veil = wordveil.Veil(wordveil.mechanism("graph", wordveil.load_space("glove-50k"), epsilon=6.0))
    print(veil_column(table, "answer", veil).to_string(index=False))
    print(veil.guarantee.sentence())


if __name__ == "__main__":
    main()
