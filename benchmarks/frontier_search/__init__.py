"""The search for a better default: many spaces and priors at equal success of the adversary, on a GPU.

A candidate is a cost of every pair of words and a prior over outputs; its channel is held as one dense matrix, so that
the adversary's success and the near loss are exact. `ground` holds what all candidates are made from, `graphs`,
`paths` and `hierarchies` make distances, `candidates` lists what is tried, `channels` says what a candidate reveals,
`mechanism` makes a mechanism of it that readers and attackers take, and `search` compares.
"""
