"""Hierarchical spaces: words in clusters, clusters in larger clusters."""

from __future__ import annotations

import torch

from benchmarks.frontier_search.ground import Ground, Tensor

__all__ = ["cluster_distance"]

_LEVELS = 40
_ROUNDS = 8


def cluster_distance(ground: Ground, trees: int = 1, seed: int = 0) -> Tensor:
    """Return log2 of the size of the smallest cluster that holds both words, as the mean over some trees.

    The clusters of a tree come from the whole vocabulary by nested 2-means. With one tree the distance is an
    ultrametric, and no ball of radius r has more than 2^r words: no space grows more slowly. A mean of metrics is a
    metric.
    """
    generator = torch.Generator().manual_seed(seed)
    total = torch.zeros((len(ground), len(ground)), device=ground.device)
    for _ in range(trees):
        total += _one_tree(ground.directions, generator)
    return total / trees


def _one_tree(points: Tensor, generator: torch.Generator) -> Tensor:
    cluster = torch.zeros(len(points), dtype=torch.int64, device=points.device)
    apart = torch.full((len(points), len(points)), float(torch.log2(torch.tensor(len(points)))), device=points.device)
    for _ in range(_LEVELS):
        halves = 2 * cluster + _halved(points, cluster, generator)
        cluster, size = torch.unique(halves, return_inverse=True, return_counts=True)[1:]
        height = size.float().log2()[cluster]
        apart = torch.where(cluster[:, None] == cluster, height[:, None], apart)
        if size.max() == 1:
            break
    return apart


def _halved(points: Tensor, cluster: Tensor, generator: torch.Generator) -> Tensor:
    """Return for each point which half of its cluster it belongs to, by 2-means in all clusters at once."""
    count = int(cluster.max()) + 1
    guess = torch.randn(points.shape[1], generator=generator).to(points.device)
    along = points @ guess
    side = (along > _means(along[:, None], cluster, count)[cluster, 0]).long()
    for _ in range(_ROUNDS):
        centres = _means(points, 2 * cluster + side, 2 * count)
        apart = [((points - centres[2 * cluster + half]) ** 2).sum(dim=1) for half in (0, 1)]
        side = (apart[1] < apart[0]).long()
    return side


def _means(points: Tensor, cluster: Tensor, count: int) -> Tensor:
    sums = torch.zeros((count, points.shape[1]), device=points.device).index_add_(0, cluster, points)
    return sums / torch.bincount(cluster, minlength=count).clamp(min=1)[:, None]
