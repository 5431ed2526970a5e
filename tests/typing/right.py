"""Documented calls of spcastat, from the README and the vignettes: a type checker must accept every line."""

import dask.dataframe as dd
import matplotlib.axes
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl

import spcastat as sp

df = sp.datasets.pitprops_sample(rng=0)
R = sp.datasets.load_pitprops()
stress = pd.cut(df["moist"] + df["testsg"], 3, labels=["light", "middle", "heavy"])

# choosing
choice = sp.choose(df, scale=True)
print(choice, choice.reason, choice.table.head(3), choice.k + 1)
by_ebic = sp.choose(R, k=3, n_obs=180)
number = sp.choose_k(df, scale=True, n_draws=99)
number.plot().set_title("eigenvalues")
number = sp.choose_k("~ . - knots", data=df, kmax=4, alpha=0.1, rng=1)
choice.report("choice.html", title="Pitprops")
choice = sp.choose("~ . - knots", data=df, k=3, cards=range(1, 9), by="ebic", n_jobs=2)
k_choice = choice.k_choice
print("given" if k_choice is None else k_choice.spectrum["eigenvalue"].head(3))

# fits
fit = choice.fit
fit = sp.spca(df, k=3, card=[7, 4, 4])
fit = sp.spca_cov(R, k=np.int64(2), card=[np.int64(3), 2], n_obs=np.int64(180))
fit = sp.spca(df, 3, 5, formula="~ topdiam + length + log(moist)", scale=True)
fit = sp.spca("~ . - knots", data=df, k=3, card={"PC1": 7, "PC2": 4, "PC3": 4}, scale=True)
fit = sp.spca(data=df, k=2, card=5, na="em", k_em=2)
fit = sp.spca(df, k=2, card=5, clusters="whorls", strata=df["knots"] > 1, weights=df["bowmax"])
fit = sp.spca(df, k=2, card=5, block_length="auto").refit(block_length=10)
boot = fit.bootstrap(40, search="near")
fit = sp.spca(imputations=[df, df], k=2, card=5, scale=True)
fit = sp.choose(df, 2, clusters=["a", "b"] * 90, folds=2).fit
fit = sp.spca("~ log(moist) | whorls", data=df, k=1, card=3, context={"log": np.log})
fit = sp.spca_cov(df.corr().to_numpy(), 2, 5, mean=[0.0] * 13, sd=np.ones(13), rng=1)
fit = sp.spca_cov(R, k=6, method="zou", penalty=[0.06, 0.16, 0.1, 0.5, 0.5, 0.5], ridge=1e-6)
fit = sp.spca_cov(R, k=3, card=[7, 4, 4], include={"PC1": ["clear"]}, exclude=["moist"], disjoint=True)
fits = {name: sp.spca_cov(R, k=3, card=5, objective=name) for name in ("adjusted", "pev", "least_squares")}
fit = sp.spca_cov(R, k=2, card=3, together={"size": ["topdiam", "length"], "knots": ["knots", "diaknot"]})
fit = sp.spca(df, 2, card=4, scale="blocks", blocks={"calm": list(df)[:4], "rest": list(df)[4:]})

# sparse loadings, groups, scales
both_senses = sp.sparse_loadings(df, 3, [7, 4, 4], scale=True)
both_senses = sp.sparse_loadings("~ . - knots", data=df, k=2, total=9, scale=True, na="em", k_em=2)
print(both_senses.communalities.round(3), both_senses.weights.head(4), both_senses.variance["cumulative"])
both_senses.biplot(groups=stress, outline="t").set_title("loadings")
both_senses.plot_loadings(intervals=both_senses.bootstrap(99).conf_int(0.9))
print(both_senses.summary(conf_int=both_senses.bootstrap(99)).as_latex(label="tab:loadings"))
compared = sp.compare_groups("~ . - knots", "stress", 2, 4, data=df.assign(stress=stress), clusters="plot")
print(compared.p_value < 0.05, compared.p_values.min(), compared.p_adjusted["PC1"], compared.table["kept"])
compared.plot(max_rows=12, components=[1]).set_title("slopes")
print(fit.scales().table["alpha"], fit.scales().items.head(3), round(fit.scales().kept, 3))

# large data
fit = sp.spca(lambda: pd.read_csv("trips.csv", chunksize=100_000), k=5, card=10)
fit = sp.spca(pl.scan_parquet("trips/*.parquet"), k=5, card=10)
fit = sp.spca([df.iloc[:90], df.iloc[90:]], k=3, card=4, progress=lambda step: print(step.stage))
fit = sp.spca(dd.read_parquet("s3://bucket/trips/"), k=5, card=10)
fit.transform_to("scores.parquet", progress=True)

# numbers
fit.loadings["PC2"][fit.loadings["PC2"] != 0].round(3)
print(fit.scores.head(3), fit.variance.round(4).T, fit.component_shares.round(4))
shares = {name: round(fit.measure(name), 4) for name in sp.measures.MEASURES}
answers = {"adjusted": sp.measures.adjusted(fit.loadings, S=R), "PEV": sp.measures.pev(fit.loadings, S=R)}
pl_scores = fit.transform(pl.from_pandas(df)).select(pl.col("PC1") * 2)
fit.augment(df, na="drop").iloc[:3, -5:]
beyond = fit.diagnostics()["Q"] > fit.limits(0.99)["Q"]
extra = fit.supplement(rows=df.head(4), variables=stress)
fit = fit.rename({"PC1": "size", "PC2": "moisture"}).refit(card=5, method="bcd-l0", n_init=20)

# how sure
boot = fit.bootstrap(60, rng=0, n_jobs=2)
boot.conf_int(0.9, kind="percentile")[["component", "term"]].merge(boot.conf_int())
print(fit.test_loadings(99).q_values.min(), fit.split_inference(50).conf_int().round(3))
proof = fit.certify(joint=True, objective="pev", time_limit=10)
print(proof.table[["value", "upper_bound", "gap"]].round(3), proof.sentence)
full = fit.with_inference(boot, fit.stability(30), proof)
last = full.inference["bootstrap"].variance_ci() if "bootstrap" in full.inference else None
print(full.summary(conf_int=True, stars=fit.test_loadings(99)), full.tidy(conf_int=boot))

# tables, words, files
summary = fit.summary(digits=2, max_rows=12, sort=True)
print(summary.as_latex(caption="Pit props", label="tab:props", notes=False)[:420])
print(fit.summary(tables="loadings", contributions=True, cut=0.3))
print(fit.describe().text, fit.equations(raw=True))

# pictures
fig, axes = plt.subplot_mosaic([["loadings", "biplot"]], figsize=(7, 3.6))
fit.plot_loadings(kind="table", max_rows=30, ax=axes["loadings"]).set_ylabel("Loading")
fit.biplot(groups=stress.rename("stress"), outline="normal", supplement=extra, ax=axes["biplot"])
points = fit.biplot_data(groups=stress).points[["x", "y"]]
fit.screeplot(parallel=number, kind="share", max_components=8).set_ylabel("Variance")

# several fits, other functions
path = sp.spca_path("~ .", data=df, k=2, cards=range(2, 6), rng=np.random.default_rng(0))
print(path[(4, 3, 3)].loadings.query("PC1 != 0"), path.table[["card", "nonzeros", "pev"]], len(path))
both = sp.compare({"l0": fit, "plain": path[7]}, held_out=True, folds=5)
print(sp.compare(fit, path[7], path[5], held_out=True).cardinality)
print(both.measures[["adjusted", "pev"]].round(4), both.frames["agreement"], both.plot().get_title())
print(sp.methods("pmd").frames["options"].loc["orth", "default"], sp.methods().frames["methods"]["name"])
S = sp.correlation(df.round(), method="spearman")
coordinates = sp.spco("~ topdiam + length", data=df, k=1, penalty=0.5, center=True).coordinates.tail()
model = sp.sklearn.SparsePCA(n_components=3, card=5, scale=True, options={"order": "best"})
model.fit(df, sample_weight=np.ones(180))
print(model.result_.loadings, model.components_.shape, model.transform(df).mean(axis=0))
try:
    sp.spca_cov(R, k=3, variance=0.9, exclude=["moist", "testsg"])
except sp.errors.SpcaError as refused:
    print(refused)


# annotations
def loadings_of(result: sp.SpcaResult | sp.Choice) -> pd.DataFrame:
    return result.fit.loadings if isinstance(result, sp.Choice) else result.loadings


def show(step: sp.Step) -> None:
    print(step.stage, step.done, step.total)


results: list[sp.Summary] = [choice, number, path, both, compared, fit.scales()]
watched: sp.SpcaPath = sp.spca_path(df, 2, cards=[3, 4], progress=show)
tested: tuple[sp.Bootstrap, sp.Stability, sp.LoadingTest, sp.SplitInference] | None = None
kinds: list[type] = [sp.SpcoResult, sp.SpcoPath, sp.Certificate, sp.Comparison, sp.ComponentChoice]
kinds += [sp.SparseLoadings, sp.LoadingsBootstrap, sp.GroupComparison, sp.Scales]
kinds += [sp.Outliers, sp.ScoreChunks, sp.Supplement, sp.BiplotData, sp.Description]
drawn: matplotlib.axes.Axes = sp.plots.biplot(fit.scores, fit.loadings)
