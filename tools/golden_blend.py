#!/usr/bin/env python3
"""Prints the golden numbers of src/data/blend_test.cpp: weights normalised by NumPy, and blends by the greedy rule of
Megatron-LM written out in plain Python. Needs numpy (made with 2.4.6)."""

import math

import numpy


def normalised(weights):
    weights = numpy.array(weights, dtype=numpy.float64)
    return (weights / numpy.sum(weights)).tolist()


def greedy(weights, samples, limits=None):
    used = [0] * len(weights)
    places = []
    for i in range(samples):
        best, most = None, -math.inf
        for d, weight in enumerate(weights):
            if limits and used[d] == limits[d]:
                continue
            behind = weight * max(float(i), 1.0) - float(used[d])
            if behind > most:
                best, most = d, behind
        places.append((best, used[best]))
        used[best] += 1
    return places


def digest(places):
    """FNV-1a over datasets and samples."""
    value = 0xCBF29CE484222325
    for pair in places:
        for number in pair:
            value = (value ^ number) * 0x100000001B3 % 2**64
    return value


for datasets in (2, 7, 8, 9, 20, 128, 129, 300, 1001):
    shares = normalised([1 / (i + 1) for i in range(datasets)])
    # The builder normalises, then the blend does again.
    places = greedy(normalised(shares), 5000)
    print(f"    {{{datasets}, {shares[0].hex()}, {shares[-1].hex()}, {digest(places):#x}}},")

sizes = [17, 3, 40, 1, 17]
total = sum(sizes)
print(greedy([size / float(total) for size in sizes], total, sizes))
