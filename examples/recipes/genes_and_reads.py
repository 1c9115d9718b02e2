"""
Genes and reads: tables whose rows overlap
==========================================

``bp.join`` joins the rows of two tables whose intervals overlap: here, sequencing reads
and genes. Tables are of pandas, polars, PyArrow or DuckDB, and so is the result. See
:doc:`/joins`. Needs pandas, ``pip install pandas``.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import broadphase as bp

random = np.random.default_rng(8)
chromosomes = {"chr1": 248_956_422, "chr2": 242_193_529, "chr21": 46_709_983}


def table(count, shortest, longest):
    """Return random intervals on the chromosomes, half-open."""
    chrom = random.choice(list(chromosomes), count)
    size = random.integers(shortest, longest, count)
    room = np.array([chromosomes[name] for name in chrom]) - size
    start = (random.random(count) * room).astype(np.int64)
    return pd.DataFrame({"chrom": chrom, "start": start, "end": start + size})


genes = table(2_000, 1_000, 90_000)
genes["gene"] = [f"gene {k}" for k in range(len(genes))]
reads = table(200_000, 50, 300)

# %%
# Genome intervals are half-open: ``closed="left"``. Reads and genes are only compared
# on the same chromosome.

where = {"lower": "start", "upper": "end", "by": "chrom"}
hits = bp.join(
    reads, genes, **where, closed="left", keep=(["chrom", "start"], ["gene"])
)
print(hits.head())

# %%
# The number of reads of each gene, as a column of the genes:

genes = bp.join(genes, reads, **where, closed="left", count="reads")
print(genes.nlargest(3, "reads"))

# %%
# Reads outside all genes, and their distance from the nearest gene:

nearest = bp.join(
    reads, genes, **where, how="nearest", distance="away", keep=([], ["gene"])
)
outside = nearest[nearest["away"] > 0]
print(
    f"{len(outside)} of {len(reads)} reads, {outside['away'].median():.0f} bases away"
)

# %%
# A part of chromosome 21:

low, high = 11_900_000, 12_700_000
figure, (above, below) = plt.subplots(
    2, 1, figsize=(9, 4), layout="constrained", sharex=True, height_ratios=(2, 3)
)
here = genes[(genes.chrom == "chr21") & (genes.end > low) & (genes.start < high)]
for level, (_, gene) in enumerate(here.sort_values("start").iterrows()):
    above.plot([gene.start, gene.end], [level % 6] * 2, color="#2B6C99", linewidth=6)
    above.text(gene.end, level % 6, f" {gene.reads}", fontsize=8, va="center")
above.set(ylim=(-1, 6), yticks=[], title="genes, and how many reads overlap each")
own = reads[(reads.chrom == "chr21") & (reads.end > low) & (reads.start < high)]
inside = bp.join(own, here, **where, closed="left", count="genes")["genes"] > 0
below.hist(
    [own.start[inside], own.start[~inside]],
    bins=np.linspace(low, high, 61),
    stacked=True,
    color=["#C0392B", "#C8CDD2"],
    label=["in a gene", "between genes"],
)
below.set(xlim=(low, high), xlabel="place on chromosome 21", ylabel="reads")
below.legend()
plt.show()
