"""Wrong calls of spcastat: a type checker must report every line that ends in "# wrong", and no other."""

import pandas as pd

import spcastat as sp

df = sp.datasets.pitprops_sample(rng=0)
R = sp.datasets.load_pitprops()
fit = sp.spca(df, k=3, card=5)
choice = sp.choose(df)
path = sp.spca_path(df, k=1)
proof = fit.certify()

# misspelt, or gone
sp.chose(df)  # wrong
sp.datasets.load_pitprop()  # wrong
fit.biplt()  # wrong
fit.loadings.hed()  # wrong
choice.loadings.head()  # wrong
fit.summary().to_latex()  # wrong
proof["gap"].max()  # wrong
sp.sklearn.SparsPCA  # wrong

sp.sparse_loadings(df, 2, 3).certify()  # wrong
sp.compare_groups(df, "site", 2).p_valeu  # wrong

# names of arguments
sp.sparse_loadings(df, 2, 3, objective="pev")  # wrong
sp.compare_groups(df, 2, 4)  # wrong
sp.spca(df, 2, crd=1)  # wrong
sp.spca(df, k=3, card=5, seed=1)  # wrong
sp.spca_cov(R, k=3, na="drop")  # wrong
sp.spca_cov(R, k=3, scale=df.std())  # wrong
sp.choose(df, 3, 5)  # wrong
sp.choose_k(df, 8)  # wrong
sp.spca_path(df, 3, [4, 5])  # wrong
sp.spco(df, 2, ncomp=2)  # wrong
sp.spca_cov(R, 3, 5, method="nspca", alpha=0.5)  # wrong
fit.refit(crd=5)  # wrong
fit.bootstrap(99, kind="percentile")  # wrong
fit.certify(objctive="pev")  # wrong
sp.sklearn.SparsePCA(3, rng=0)  # wrong

sp.spca(df, 2, cluster="site")  # wrong

# choices
sp.spca(df, 2, block_length="long")  # wrong
sp.spca(df, 2, effort="fast")  # wrong
sp.spca(df, 2, method="bcd-10")  # wrong
sp.choose(df, by="cross")  # wrong
fit.transform(df, na="foo")  # wrong
fit.measure("PEV")  # wrong
fit.biplot(outline="ellipse")  # wrong
sp.methods("pdm")  # wrong

# types
sp.spca(df)  # wrong
sp.spca_cov(R)  # wrong
sp.spca(df, data=df, k=2)  # wrong
sp.spca("~ topdiam", data=df, k=2, formula="~ length")  # wrong
sp.spca(df, 2, rng="0")  # wrong
sp.spca(df, 2, na="omit")  # wrong
sp.spca(df, "3")  # wrong
sp.spca(3, k=2)  # wrong
sp.spca(df, k=3, card="5")  # wrong
sp.spca("~ topdiam + length", df, k=2)  # wrong
sp.spca_path(df, k=1, cards=10)  # wrong
sp.compare([fit, fit])  # wrong
sp.load(3)  # wrong
fit.adopt(proof.table)  # wrong
fit.biplot(components=(1, 2, 3))  # wrong
shares: pd.Series = fit.measure("pev")  # wrong
