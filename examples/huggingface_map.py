"""A map over a Hugging Face dataset: ``python examples/huggingface_map.py``."""

from __future__ import annotations

import secrets

from datasets import Dataset

import wordveil


def veil_dataset(dataset: Dataset, column: str, veil: wordveil.Veil) -> Dataset:
    """Return the dataset with one column veiled.

    The result is given a name of its own and kept in memory: the library's cache would hand out the same draws again.
    """
    return dataset.map(
        lambda batch: {column: [release.text for release in veil.many(batch[column])]},
        batched=True,
        keep_in_memory=True,
        load_from_cache_file=False,
        new_fingerprint=secrets.token_hex(8),
    )


def main() -> None:
    """Veil a small dataset."""
    dataset = Dataset.from_dict({"text": ["The ship left the harbour.", "Rain fell on the city."], "label": [0, 1]})
    veil = wordveil.Veil(wordveil.mechanism("graph", wordveil.load_space("glove-50k"), epsilon=6.0))
    for row in veil_dataset(dataset, "text", veil):
        print(row)


if __name__ == "__main__":
    main()
