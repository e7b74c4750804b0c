"""The search for a better default: many spaces and priors at equal success of the adversary, on a GPU.

A candidate is a cost for every pair of words and a prior over outputs. Its channel is held as one dense matrix, so that
the adversary's success and the near loss are exact. `ground` holds what all candidates are made from. `graphs`, `paths`
and `hierarchies` make distances, and `candidates` lists what to try. `channels` computes what a candidate reveals,
`mechanism` wraps it for readers and attackers, and `search` compares.
"""
