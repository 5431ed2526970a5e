"""What a message recommends is accepted by the call that raised it."""

from __future__ import annotations

import re
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import spcastat as sp
from spcastat.fit.method_table import SOLVERS
from spcastat.search.climbing import EFFORTS


def given() -> dict:
    """The names in the calls of the table."""
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(40, 6))
    X = pd.DataFrame(rng.normal(size=(40, 2)) @ rng.normal(size=(2, 6)) + 0.6 * noise, columns=list("abcdef"))
    S, names = X.cov(), list("wxyz")
    R = [[1, 0.99, 0.36, 0.99], [0.99, 1, 0.34, 0.99], [0.36, 0.34, 1, 0.2], [0.99, 0.99, 0.2, 1]]
    fit = sp.spca(X, 2, 3)
    return {
        **{"np": np, "pd": pd, "sp": sp, "ss": scipy.sparse},
        **{"X": X, "S": S, "R": X.corr(), "w": rng.uniform(0.5, 2, 40)},
        "holes": X.mask(rng.random(X.shape) < 0.08),
        "D": X.assign(g=list("uvwx") * 10),
        "ind": pd.DataFrame(R, names, names),
        "shifted": X.assign(z=1000 * rng.normal(size=40)),
        "g": np.array(list("xy") * 20),
        **{"fit": fit, "mfit": sp.spca_cov(S, 2, 3), "path": sp.spca_path(X, 2, cards=[2, 3])},
        "choice": sp.choose(X, k=2, rng=0),
        "long": pd.concat([X.assign(**{".imp": i, ".id": range(40)}) for i in (1, 2)], ignore_index=True),
    }


#: A call that is refused, and calls that follow its message.
ADVICE: list[tuple[str, list[str]]] = [
    ("sp.spca(X,3,variance=90)", ["sp.spca(X,3,variance=0.9)"]),
    ("sp.spca(X,3,sparse='varnum',para=[2,2,2])", ["sp.spca(X,3,card=[2,2,2])"]),
    ("sp.spca_cov(X,2,3)", ["sp.spca(X,2,3)"]),
    ("sp.spca(X)", ["sp.spca(X, k=3, card=5)"]),
    (
        "sp.spca(holes,2,3)",
        ['sp.spca(holes,2,3,na="drop")', 'sp.spca(holes,2,3,na="em")', 'sp.spca(holes,2,3,na="pairwise")'],
    ),
    (
        "sp.spca(D,2,3)",
        [
            'sp.spca(D.drop(columns=["g"]),2,3)',
            'sp.spca(D,2,3,formula="~ . - g")',
            'sp.spca(D,2,3,formula="~ .",categorical="dummy")',
        ],
    ),
    (
        'sp.spca(D,2,3,together="terms")',
        [
            'sp.spca(D,2,3,together="terms",formula="~ .",categorical="dummy")',
            'sp.spca(D,2,3,together="terms",scale="mixed")',
            'sp.spca(X,2,1,together={"size":["a","b"]})',
        ],
    ),
    ("sp.spca_cov(ind,2,2)", ["sp.spca_cov(ind,2,2,nearest=True)"]),
    ("sp.spca(X,2,3,variance=.8)", ["sp.spca(X,2,3)"]),
    ("sp.spca(X,2,3,uncorrelated=.1)", ['sp.spca(X,2,3,constraint="uncorrelated")']),
    ("sp.spca(X,2,3,orthogonal=.1)", ['sp.spca(X,2,3,constraint="orthogonal")']),
    (
        'sp.choose(X,k=2,nonneg=True,family="partition",folds=2,repeats=1)',
        ['sp.choose(X,k=2,nonneg=True,family="auto",folds=2,repeats=1)'],
    ),
    ('sp.spca(X,2,3,promise="every")', ['sp.spca(X,2,variance=.8,promise="every")', "sp.spca(X,2,3)"]),
    (
        'sp.spca(X,2,variance=.8,objective="pev")',
        ["sp.spca(X,2,variance=.8)", 'sp.spca(X,2,card=3,objective="pev")'],
    ),
    (
        'sp.spca(X,2,penalty=.1,method="gpower-l1",n_init=3)',
        ['sp.spca(X,2,card=3,method="gpower-l1",n_init=3)', 'sp.spca(X,2,penalty=.1,method="gpower-l1")'],
    ),
    ('sp.spca(X,2,card=[2,3],order="best",method="greedy")', ['sp.spca(X,2,card=[2,3],method="greedy")']),
    (
        "sp.spca(X,2,4,disjoint=True)",
        ["sp.spca(X,2,3,disjoint=True)", "sp.spca(X,1,4,disjoint=True)", "sp.spca(X,2,4)"],
    ),
    (
        'sp.spca(X,2,3,include=["a"],disjoint=True)',
        ['sp.spca(X,2,3,include={"PC1":["a"]},disjoint=True)', 'sp.spca(X,2,3,include=["a"])'],
    ),
    ('sp.spca(X,2,method="spco")', ["sp.spco(X,2,zeros=.5)"]),
    ('sp.spca(X,2,3,formula="a ~ b")', ['sp.spca(X,2,2,formula="~ a + b + c")']),
    ('sp.spca(X,2,3,weights="w")', ["sp.spca(X,2,3,weights=w)"]),
    (
        'sp.spca(X.to_numpy(),2,3,weights="w")',
        ["sp.spca(X.to_numpy(),2,3,weights=w)", 'sp.spca(X.assign(w=w),2,3,weights="w")'],
    ),
    ("sp.spca(X,2,3,weights=w/w.sum())", ["sp.spca(X,2,3,weights=w*len(w)/w.sum())"]),
    (
        "sp.spca(X,2,3,weights=w).bootstrap(40)",
        [
            'sp.spca(X,2,3,weights=w,weights_are="sampling").bootstrap(40)',
            "sp.spca(X,2,3,weights=np.ones(40)).bootstrap(40)",
            "sp.spca(X,2,3).bootstrap(40)",
        ],
    ),
    ('sp.spca(X,2,3,weights_are="sampling")', ['sp.spca(X,2,3,weights=w,weights_are="sampling")']),
    (
        'sp.spca(holes.assign(q=w),2,3,na="em",formula="~ . | q")',
        ['sp.spca(holes.assign(q=w),2,3,na="drop",formula="~ . | q")'],
    ),
    ('sp.spca(X,2,2,formula="~ a + b + c | d",center=False)', ['sp.spca(X,2,2,formula="~ a + b + c | d")']),
    (
        "sp.spca(X.assign(z=1.),2,3,scale=True)",
        ["sp.spca(X,2,3,scale=True)", "sp.spca(X.assign(z=1.),2,3,scale=False)"],
    ),
    ("sp.spca(S,2,3)", ["sp.spca_cov(S,2,3)"]),
    ('sp.spca(D,2,3,scale="mixed",na="x")', ['sp.spca(D,2,3,scale="mixed",na="raise")']),
    (
        'sp.spca(X,2,3,blocks={"x":list("abc"),"y":list("def")})',
        ['sp.spca(X,2,3,scale="blocks",blocks={"x":list("abc"),"y":list("def")})', "sp.spca(X,2,3)"],
    ),
    (
        'sp.spca(X,2,3,scale="blocks")',
        ['sp.spca(X,2,3,scale="blocks",blocks={"x":list("abc"),"y":list("def")})'],
    ),
    ("sp.spca(X,2,3,passes=3)", ["sp.spca(X,2,3)"]),
    ("sp.spca(X,2,3,k_em=2)", ['sp.spca(holes,2,3,na="em",k_em=2)']),
    ('sp.spca(X,2,3,categorical="dummy")', ['sp.spca(X,2,3,formula="~ .",categorical="dummy")']),
    (
        'sp.spca(X,2,3,start="ones",method="bcd-l0")',
        ['sp.spca(X,2,3,start="pca",method="bcd-l0")', 'sp.spca(X,2,3,start="column",method="bcd-l0")'],
    ),
    ("sp.spca(X,2,3,block_length=30)", ["sp.spca(X,2,3,block_length=20)"]),
    ("sp.spca_cov(S,2,3,sd=[1]*6)", ["sp.spca_cov(S,2,3,mean=[0]*6,sd=[1]*6)", "sp.spca_cov(S,2,3)"]),
    (
        'sp.spca_cov(S,2,3,mean=[0]*6,given=["a"])',
        ['sp.spca_cov(S,2,3,given=["a"])', 'sp.spca(X,2,3,formula="~ . | a")'],
    ),
    ('sp.spca_cov(S,2,3,scale="mixed")', ['sp.spca(X,2,3,scale="mixed")']),
    ('sp.spca_cov(S,2,3,method="spcagrid")', ['sp.spca(X,2,3,method="spcagrid")']),
    ("sp.spca_cov(X,2,3)", ["sp.spca(X,2,3)"]),
    (
        "mfit.transform(X)",
        [
            "sp.spca_cov(S,2,3,mean=X.mean()).transform(X)",
            "sp.spca_cov(R,2,3,mean=X.mean(),sd=X.std()).transform(X)",
        ],
    ),
    ("mfit.scores", ["sp.spca(X,2,3).scores", "sp.spca_cov(S,2,3,mean=X.mean()).transform(X)"]),
    ("mfit.biplot()", ["sp.spca(X,2,3).biplot()"]),
    ("mfit.bootstrap(40)", ["sp.spca_cov(S,2,3,n_obs=40).bootstrap(40)"]),
    ("mfit.stability(5)", ["sp.spca_cov(S,2,3,n_obs=40).stability(5)"]),
    (
        "mfit.test_loadings()",
        [
            "fit.test_loadings(rng=0)",
            "sp.spca_cov(S,2,3,n_obs=40).bootstrap(40)",
            "sp.spca_cov(S,2,3,n_obs=40).stability(5)",
        ],
    ),
    ("mfit.equations(raw=True)", ["sp.spca_cov(S,2,3,mean=X.mean()).equations(raw=True)"]),
    (
        "fit.summary(conf_int=True)",
        [
            "fit.summary(conf_int=fit.bootstrap(40))",
            "fit.with_inference(fit.bootstrap(40)).summary(conf_int=True)",
        ],
    ),
    (
        "fit.summary(stars=True)",
        [
            "fit.summary(stars=fit.test_loadings())",
            "fit.with_inference(fit.test_loadings()).summary(stars=True)",
        ],
    ),
    (
        "fit.tidy(conf_int=True)",
        [
            "fit.tidy(conf_int=fit.bootstrap(40))",
            "fit.with_inference(fit.bootstrap(40)).tidy(conf_int=True)",
        ],
    ),
    ("fit.plot_loadings(conf_int=True)", ["fit.plot_loadings(conf_int=fit.bootstrap(40))"]),
    ("fit.rotated", ['fit.refit(method="rotate",card=3).rotated']),
    ("fit.imputed", ['sp.spca(holes,2,3,na="em").imputed']),
    ("fit.transform(holes)", ['fit.transform(holes,na="drop")', 'fit.transform(holes,na="pairwise")']),
    (
        'fit.transform(holes,na="em")',
        ['sp.spca(holes,2,3,na="em").transform(holes,na="em")', 'fit.transform(holes,na="pairwise")'],
    ),
    ("fit.refit(card=9)", ["fit.refit(card=6)"]),
    (
        'fit.biplot(palette="viridis")',
        ['fit.biplot(palette="viridis",groups=list("ab")*20)', 'fit.biplot(palette="viridis",color=w)'],
    ),
    ('fit.biplot(color=list("ab")*20)', ['fit.biplot(groups=list("ab")*20)']),
    ("fit.biplot(groups=np.arange(40)+.5)", ["fit.biplot(color=np.arange(40)+.5)"]),
    (
        "sp.spca(X,1,3).biplot()",
        ["sp.spca(X,2,3).biplot()", "sp.spca(X,1,3).plot_scores()", "sp.spca(X,1,3).plot_loadings()"],
    ),
    ("fit.supplement()", ["fit.supplement(rows=X)", 'fit.supplement(variables=D[["g"]])']),
    ('fit.rename({"PC1":"x","PC2":"x"})', ['fit.rename({"PC1":"size"})']),
    ("sp.compare(fit)", ["sp.compare(fit,fit.refit(card=2))"]),
    ("sp.compare(fit,3)", ['sp.compare({"l0":fit,"l1":fit.refit(card=2)})']),
    ("path[9]", ["path[3]"]),
    ("sp.choose(X,k=2,card=3)", ["sp.choose(X,k=2,cards=[2,3])", "sp.spca(X,2,card=3)"]),
    (
        "sp.choose(S,k=2,covariance=True)",
        [
            "sp.choose(S,k=2,covariance=True,n_obs=40)",
            'sp.choose(S,k=2,covariance=True,by="is")',
            'sp.choose(S,k=2,covariance=True,by="variance")',
        ],
    ),
    (
        'sp.choose(S,k=2,covariance=True,by="cv")',
        ['sp.choose(S,k=2,covariance=True,by="ebic",n_obs=40)', "sp.choose(X,k=2)"],
    ),
    ("sp.choose(X,k=2,folds=99)", ["sp.choose(X,k=2,folds=40)"]),
    (
        'sp.choose(holes,together={"s":["a","b"]},na="em",k=2)',
        [
            'sp.choose(holes,together={"s":["a","b"]},na="drop",k=2)',
            'sp.choose(holes,together={"s":["a","b"]},na="em",k=2,by="ebic")',
        ],
    ),
    ("sp.choose_k(S,covariance=True)", ["sp.choose_k(S,covariance=True,n_obs=40)"]),
    ("sp.choose_k(X,n_draws=19,alpha=.01)", ["sp.choose_k(X,n_draws=99,alpha=.01)"]),
    ("sp.spca_path(X,2,card=3)", ["sp.spca_path(X,2,cards=[1,4])", "sp.spca(X,2,card=3)"]),
    (
        'sp.compare_groups(holes,list("ab")*20,k=2,card=3)',
        ['sp.compare_groups(holes,list("ab")*20,k=2,card=3,na="drop",n_draws=99)'],
    ),
    (
        'sp.compare_groups(X,list("ab")*20,k=2,card=3,na="em",n_draws=99)',
        ['sp.compare_groups(X,list("ab")*20,k=2,card=3,na="drop",n_draws=99)'],
    ),
    (
        "sp.correlation(D)",
        [
            'sp.correlation(X.assign(a=pd.Categorical(list("uvwx")*10,categories=list("uvwx"),ordered=True))[["a","b"]],method="spearman")'
        ],
    ),
    ("sp.spco(X,2,zeros=1)", ["sp.spco(X,2,zeros=.9)"]),
    ("sp.spco(X,2,penalty=1e9)", ["sp.spco(X,2,penalty=.1)"]),
    (
        "sp.sparse_loadings(X,2,card=3,total=5)",
        [
            "sp.sparse_loadings(X,2,card=3)",
            "sp.sparse_loadings(X,2,total=5)",
            "sp.sparse_loadings(X,2,variance=.8)",
        ],
    ),
    ("sp.sparse_loadings(X,2,total=1)", ["sp.sparse_loadings(X,2,total=2)"]),
    ("choice.stability(1)", ["choice.stability(2)"]),
    ("fit.stability(5,threshold=.2)", ["fit.stability(5,threshold=.6)"]),
    ('sp.spca(X,2,3,method="bcd-l0",max_iter=0)', ['sp.spca(X,2,3,method="bcd-l0",max_iter=50)']),
    ('sp.spca("~ a", 2)', ['sp.spca("~ a + b + c", data=X, k=2)']),
    ('sp.spca("~ a + b + c", X)', ['sp.spca("~ a + b + c", data=X, k=2)']),
    ('sp.spca(X["a"],1,1)', ['sp.spca(X["a"].to_frame(),1,1)']),
    (
        'sp.measures.pev(fit.loadings.set_axis(list("uvwxyz")),X=X)',
        ['sp.measures.pev(fit.loadings.set_axis(list("uvwxyz")).to_numpy(),X=X)'],
    ),
    ('fit.certify(joint=False,time_limit=1,objective="pev")', ["fit.certify(joint=False,time_limit=1)"]),
    ("fit.bootstrap(seed=1)", ["fit.bootstrap(40,rng=1)"]),
    ("fit.biplot(colour=w)", ["fit.biplot(color=w)"]),
    (
        "sp.spca(long,2,3)",
        [
            "sp.spca(imputations=long,k=2,card=3)",
            'sp.spca(long[long[".imp"]==1].drop(columns=[".imp",".id"]),2,3)',
            "sp.rows(imputations=long)",
            "sp.spca_path(imputations=long,k=2,cards=[2,3])",
        ],
    ),
    ("sp.principal_variables(imputations=long,m=2)", ["sp.rows(imputations=long)"]),
    (
        'sp.spca(X,2,3,nonneg=True,constraint="orthogonal")',
        ['sp.spca(X,2,3,constraint="orthogonal")'],
    ),
    (
        "sp.spca(X,2,3,nonneg=True,disjoint=True)",
        ["sp.spca(X,2,3,disjoint=True)", "sp.spca(X,2,3,nonneg=True)"],
    ),
    (
        "sp.spca(X,2,nonneg=True,disjoint=True)",
        ["sp.spca(X,2,disjoint=True)", "sp.spca(X,2,card=3,nonneg=True)"],
    ),
    (
        'sp.spca(X,2,variance=.8,nonneg=True,include=["a"])',
        ['sp.spca(X,2,variance=.8,include=["a"])', "sp.spca(X,2,card=3,nonneg=True)"],
    ),
    ('sp.spca(X,2,3,method="spca-zou")', ['sp.spca(X,2,3,method="zou")', "sp.methods()"]),
    (
        "sp.choose_k(X,method='zou')",
        ["sp.choose_k(X,n_draws=99)", "sp.choose(X,k=2,method='greedy',folds=2,repeats=1)"],
    ),
    ("fit.bootstrap(40,level=95)", ["fit.bootstrap(40).conf_int(level=0.95)"]),
    ("sp.spca([[1,2],[3,4],[2,3.5]],1,1)", ["sp.spca(pd.DataFrame([[1,2],[3,4],[2,3.5]]),1,1)"]),
    ("sp.spca({'a':[1,3,2],'b':[2,4,3.5]},1,1)", ["sp.spca(pd.DataFrame({'a':[1,3,2],'b':[2,4,3.5]}),1,1)"]),
    (
        "sp.choose(R,covariance=True)",
        [
            "sp.choose(R,covariance=True,n_obs=40)",
            'sp.choose(R,covariance=True,k=2,by="is")',
            'sp.choose(R,covariance=True,k=2,by="variance")',
        ],
    ),
    ("sp.spca(X,2,variance=.8,nonneg=True)", ["sp.spca(X,2,card=3,nonneg=True)"]),
    (
        "sp.correlation(long)",
        ['sp.correlation(long[long[".imp"]==1].drop(columns=[".imp",".id"]),method="pearson")'],
    ),
    *(
        (
            f"sp.compare_groups(sp.rows(X,{option}),g,k=1,card=2)",
            [f"sp.compare_groups(sp.rows(X,{option}).changed({change}),g,k=1,card=2,n_draws=19)"],
        )
        for option, change in {
            "weights=np.ones(40)": "weights=None",
            'weights=w,weights_are="sampling"': "weights=None,weights_are=None",
            "robust=True": "robust=None",
            "strata=g": "strata=None",
            "block_length=4": "block_length=None",
            "center=False": "center=None",
        }.items()
    ),
    (
        'sp.choose(X,k=2,share=.9,by="ebic")',
        ['sp.choose(X,k=2,share=.9,rule="keep",by="cv")', 'sp.choose(X,k=2,share=.9,by="variance")'],
    ),
    (
        'sp.spca(X,3,1,constraint="orthogonal",include=["a"])',
        [
            'sp.spca(X,3,2,constraint="orthogonal",include=["a"])',
            'sp.spca(X,3,1,constraint="orthogonal",include={"PC1":["a"]})',
        ],
    ),
    (
        'sp.spca(X,3,2,constraint="orthogonal",exclude=list("abcd"))',
        ['sp.spca(X,3,2,constraint="orthogonal",exclude=list("abc"))'],
    ),
    ("sp.principal_variables(S,m=2)", ["sp.principal_variables_cov(S,m=2)"]),
    ("fit.plot_scores(groups=np.arange(40.))", ["fit.biplot(color=np.arange(40.))"]),
    ("sp.choose(X[:7],k=4,folds=2,cards=[2])", ["sp.choose(X[:7],k=1,folds=2,cards=[2])"]),
    (
        "sp.spca(X,2,3,nonneg=True).rotated",
        ['sp.spca(X,2,3,nonneg=True).refit(method="rotate",card=3,nonneg=None).rotated'],
    ),
    (
        'sp.spca(X,2,3,include=["a"],disjoint=True,exclude={"PC2":["b"]}).rotated',
        ['sp.spca(X,2,3).refit(method="rotate",card=3,include=None,exclude=None,disjoint=None).rotated'],
    ),
    (
        'sp.spca(imputations=[D,D.assign(g=list("uvwy")*10)],k=2,card=3,formula="~ .",categorical="dummy")',
        ['sp.spca(imputations=[D.assign(g=list("uvww")*10)]*2,k=2,card=3,formula="~ .",categorical="dummy")'],
    ),
    ("sp.spca(ss.coo_array(np.arange(5.)),1,1)", ["sp.spca(ss.coo_array(np.arange(5.)).reshape(-1,1),1,1)"]),
    (
        'sp.spca(np.eye(40,6),1,3,method="spcagrid")',
        ["sp.spca(np.eye(40,6),1,3)"],
    ),
    ('fit.biplot(labels="a")', ["fit.biplot(labels=True)", "fit.biplot(max_arrows=2)"]),
]


@pytest.fixture(scope="module")
def names():
    """The names; searches are quick, since only what calls accept matters."""
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")
        patch.setitem(EFFORTS, "auto", EFFORTS["quick"])
        yield given()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(4))
def test_what_a_message_recommends_is_accepted(names, part):
    for bad, good in ADVICE[part::4]:
        with pytest.raises(sp.errors.SpcaError):
            eval(bad, dict(names))
        for call in good:
            eval(call, dict(names))
        plt.close("all")


@pytest.mark.parametrize(
    ("call", "words", "absent"),
    [
        (
            'sp.compare_groups(sp.rows(X,weights=w,weights_are="sampling"),g,k=1,card=2)',
            "data.changed(weights=None, weights_are=None)",
            None,
        ),
        ("sp.principal_variables(S,m=2)", "principal_variables_cov(S, ...)", None),
        ("fit.plot_scores(groups=np.arange(40.))", "biplot(color=...)", None),
        ('sp.spca(X,3,2,constraint="orthogonal",exclude=list("abcd"))', "exclude fewer", "larger cards"),
        ('sp.spca(X,3,1,constraint="orthogonal",include=["a"])', "larger cards", "exclude"),
        ('sp.choose(X,k=2,share=.9,by="ebic")', "rule='keep' with by='cv'", None),
        ("sp.choose(R,covariance=True)", "k= with by='is'", "ebic"),
        ('sp.choose(R,covariance=True,k=2,by="bic")', "or by='is'", "k="),
        ("sp.spca(X,2,nonneg=True,disjoint=True)", "give card= in place of disjoint=", "method="),
        ("sp.spca(X,2,3,nonneg=True,disjoint=True)", "leave out disjoint=", "method="),
        ('sp.spca(X,2,3,method="spca-zou")', "Did you mean 'zou'? sp.methods()", "spca-os"),
    ],
)
def test_a_message_names_what_the_call_accepts(names, call, words, absent):
    """Each of these named something that the call refused, or left out what it accepts."""
    with pytest.raises(sp.errors.SpcaError) as error:
        eval(call, dict(names))
    assert words in str(error.value)
    assert absent is None or absent not in str(error.value)


#: Calls with a name that does not exist, whose nearest name the call has too, and what must be absent.
TAKEN = [
    ("sp.spca(X,2,3).transform(X.drop(columns='a').rename(columns={'b':'aa'}))", "lack"),
    ("sp.spca(Y,1,[2],include=['health1']).transform(Y.drop(columns='health1'))", "'health1'"),
    ("sp.spca(Y,1,2,formula='~ health1 + health_2 + q')", "'health_2'"),
    ("sp.spca(Y,1,2,include=['health1','health_2'])", "'health_2'"),
    ("sp.spca(Y,1,2,include={'PC1':'q','PC11':'r'})", "'PC11'"),
    ("sp.spca(X,2,card=3,crad=3)", "crad"),
    ("sp.spca(X,2,3,crad=3)", "crad"),
    ("sp.spca(X,2,3,scale=True,scal=True)", "scal"),
    ("sp.choose_k(X,n_draws=99,n_drawz=99)", "n_drawz"),
    ("sp.spco(X,2,zeros=.3,zeroes=.3)", "zeroes"),
    ("sp.principal_variables(X,m=2,share_=.5,share=.5)", "share_"),
    ("fit.bootstrap(n=40,rng=1,rngs=1)", "rngs"),
    ("fit.summary(digits=3,digit=3)", "digit"),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("call", "words"), TAKEN, ids=[call for call, _ in TAKEN])
def test_a_name_that_the_call_has_too_is_not_suggested(names, call, words):
    Y = names["X"].set_axis(["health1", "health2", "q", "r", "s", "t"], axis=1)
    with pytest.raises(sp.errors.SpcaError, match=words) as error:
        eval(call, {**names, "Y": Y})
    if suggested := re.search(r"Did you mean '([^']*)'", str(error.value)):
        assert not re.search(rf"\b{suggested[1]}\b", call), str(error.value)


#: Options beside a method of another program, of which its equivalent lacks some.
BESIDE = [
    *({}, {"card": 3}, {"variance": 0.8}),
    *({"card": 3, "include": ["a"]}, {"card": 3, "deflation": "schur"}),
]


@pytest.mark.sweep
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("options", BESIDE, ids=str)
def test_the_method_that_is_named_for_another_program_takes_the_other_options(names, options):
    X = names["X"]
    for foreign in ("dense", "varimax", "gpower", "PMD", "nsprcomp", "robust", "uspca"):
        with pytest.raises(sp.errors.MethodError) as error:
            sp.spca(X, 2, method=foreign, **options)
        named, _, default = str(error.value).partition(", or leave method out")
        without = named.partition("without")[2]
        kept = {name: value for name, value in options.items() if f"{name}=" not in without}
        if ", with " in named:
            kept["card" if "with card=" in named else "penalty"] = 3
        sp.spca(X, 2, method=re.search(r"give method='([\w-]+)'", named)[1], **kept)
        if default:
            sp.spca(X, 2, **options)


@pytest.mark.parametrize(
    "options",
    [
        {"card": 3, "n_init": 2},
        {"card": 3, "deflation": "schur", "n_init": 2},
        {"card": 3, "orth": True, "include": ["a"]},
        {"card": 3, "nonneg": True, "tol": 1e-3, "method": "greedy"},
        {"penalty": 0.1, "exclude": ["a"]},
        {"penalty": 0.1, "max_iter": 50},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore")
def test_the_methods_that_have_an_option_take_the_others_of_the_call(names, options):
    given = {name: value for name, value in options.items() if name != "method"}
    with pytest.raises(sp.errors.UnknownOptionError) as error:
        sp.spca(names["X"], 2, **options)
    listed, _, rest = str(error.value).partition("methods that have it: ")[2].partition(".")
    methods = re.findall(r"'([\w-]+)'", listed)
    assert methods
    if rest.startswith(" None has all options"):
        assert not any(set(given) <= set(SOLVERS[method].options) for method in SOLVERS)
        return
    for method in methods:
        sp.spca(names["X"], 2, **given | {"method": method})


#: Calls with missing values that need complete rows, or that take them as `na` says.
WITH_GAPS = [
    "sp.spca(holes, 2, 3{})",
    'sp.spca(holes, 2, 3, method="spcagrid"{})',
    'sp.spca(holes, 2, 3, formula="~ . | a"{})',
    'sp.spca(holes, 2, 2, formula="~ np.exp(a) + b + c"{})',
    "sp.spca(ss.csr_array(holes.to_numpy()), 2, 3{})",
    "sp.spca([holes[:20], holes[20:]], 2, 3{})",
    "sp.spca(holes, 2, 3, robust=True{})",
    'sp.spca(holes.assign(g=g), 2, 3, scale="mixed"{})',
    'sp.spca_path(holes, 2, cards=[2], method="spcagrid"{})',
    "sp.spca_path(holes, 2, cards=[2]{})",
    'sp.choose(holes, k=2, cards=[2], method="spcagrid"{})',
    'sp.choose(holes, k=2, together={{"s": ["a", "b"]}}{})',
    "sp.spco(holes, 2, zeros=.3{})",
    "sp.sparse_loadings(holes, 2, 3{})",
    "sp.principal_variables(holes, m=2{})",
    "sp.principal_variables(holes, share=.9{})",
    "sp.principal_variables(holes, m=2, folds=4{})",
    "sp.compare_groups(holes, g, k=1, card=2, n_draws=19{})",
    "fit.transform(holes{})",
    "fit.diagnostics(holes{})",
    'sp.spca(holes, 2, 3, na="em").diagnostics([holes[:20], holes[20:]]{})',
]


@pytest.mark.sweep
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", WITH_GAPS)
def test_every_treatment_of_missing_values_that_a_message_names_is_taken(names, call):
    with pytest.raises(sp.errors.MissingValuesError) as error:
        eval(call.format(""), {**names, "ss": scipy.sparse})
    treatments = re.findall(r"na='(\w+)'", str(error.value))
    assert treatments
    for treatment in treatments:
        eval(call.format(f", na={treatment!r}"), {**names, "ss": scipy.sparse})


@pytest.mark.parametrize(
    "call", ['sp.spca(gaps, 1, 2, scale="mixed"{})', "sp.compare_groups(gaps, g, k=1, card=2{})"]
)
def test_rows_of_which_none_is_complete_are_not_to_be_dropped(names, call):
    gaps = names["X"].mask(np.eye(40, 6) + np.eye(40, 6, -6) + (np.arange(40)[:, None] > 11) > 0)
    with pytest.raises(sp.errors.MissingValuesError) as error:
        eval(call.format(""), {**names, "gaps": gaps})
    assert "na='drop'" not in str(error.value)


@pytest.mark.filterwarnings("ignore")
def test_scale_is_the_first_advice_where_variances_differ_much():
    wine = sp.datasets.load_wine()
    first = str(sp.choose(wine)).replace("\n", " ").partition("Data ")[0]
    assert "scale=True" in first
    assert sp.choose_k(wine, scale=True, n_draws=99).k > 0  # the advice helps
