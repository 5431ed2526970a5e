"""The sentences about resampling, tests and comparisons of groups; see :mod:`spcastat.show.templates`."""

from __future__ import annotations

from spcastat.show.templates import TEMPLATES, Template

#: The label of selection frequencies in plots.
FREQUENCY_LABEL = "Share of fits to half of the rows that select it"
#: The number of draws or pairs, what they consist of if not rows of the fit, and how many were repeated.
_DRAWS = (
    "{interrupted?{done} of }{asked|# UNIT|# UNITs}{interrupted?: interrupted}{normal?, of normal rows with "
    "this covariance matrix}{again?; {again|# sample|# samples} drawn again, since no fit was possible on "
    "{again|it|them}}"
)

#: The wordings of each fact, by key.
RESAMPLING_TEMPLATES: dict[str, Template] = {
    # --- what was drawn
    "draws made": Template(part=_DRAWS.replace("UNIT", "draw")),
    "pairs made": Template(part=_DRAWS.replace("UNIT", "pair")),
    "samples made": Template(
        part="{interrupted?{done} of }{asked|# bootstrap sample|# bootstrap samples} of the second "
        "half{interrupted?: interrupted}"
    ),
    "similarity": Template(label="Similarity", line="mean |r| with the scores of the fit: {values}"),
    "bootstrap": Template(
        part="{loadings?Bootstrap of sparse loadings|Bootstrap} ({made}): {few?no intervals|{level:%g} % "
        "intervals}, {selection}"
    ),
    "stability": Template(
        part="Stability: {halves|# fit|# fits} of random halves of the rows ({made}); a variable is stable "
        "if {threshold:%g} % of the fits select it"
    ),
    # --- intervals
    "intervals given": Template(
        note="Given these variables: the intervals take the selection as fixed, and are not valid if the "
        "same data selected the variables."
    ),
    "intervals with selection": Template(
        note="An interval shows how much a loading varies with new rows, selection included; it includes "
        "zero if fewer than {share:g} % of the draws give the loading the sign that it has in the fit. "
        "test_loadings() tests, with more power, whether the variable belongs to the component."
    ),
    "kind of intervals": Template(
        note="Intervals are {pooled?computed by Rubin's rules|the loading plus or minus {z:.2f} standard "
        "deviations of the draws (normal intervals)}, stretched to 0 unless {share:g} % of the draws have "
        "its sign, and cut at -1 and 1.",
        part="interval: {pooled?pooled by Rubin's rules|loading plus or minus {z:.2f} standard deviations of "
        "the draws}, cut at -1 and 1; it includes 0 if fewer than {share:g} % of them have its sign.",
    ),
    "pooled intervals": Template(
        note="Intervals pool {number} imputations by Rubin's rules (1987), with the degrees of freedom of "
        "Barnard and Rubin (1999); successive draws use successive imputations. fmi: the fraction of missing "
        "information, (1 + 1/M) B / T. imputations: the share of them whose own fit selects the variable.",
        part="fmi: fraction of missing information; imputations: the share of {number} that select the "
        "variable.",
    ),
    "component presupposed": Template(
        note="Intervals presuppose a component that exceeds noise, which choose_k() tests."
    ),
    "components not found": Template(
        note="choose_k() finds {number|# component|# components} in these rows, so {names} may be noise.",
        warning="choose_k() finds {number|# component|# components}, so {names} may be noise.",
    ),
    "local search": Template(
        note="Each draw was fitted by a local search from the loadings of this fit and from PCA of the draw: "
        "intervals and shares describe variation around this solution, and shares are too large if other "
        "solutions explain nearly as much."
    ),
    "hidden loadings": Template(
        note="Not shown: {single?{number|# other variable|# other variables}|{number|# zero loading|# zero "
        "loadings}}, selected in at most {share:%0} % of the draws."
    ),
    "zero loadings often selected": Template(
        part="boot.summary() also has {number|# zero loading|# zero loadings} that at least {often:%0} % of "
        "the draws selected."
    ),
    "rows shown": Template(
        note="The largest of {number|# loading|# loadings} are shown{here?{here}}; {name} lists all."
    ),
    "selected": Template(
        note="Selected: the share of draws that select the variable, not the probability that it belongs "
        "there.",
        part="selected: share of the draws{zeros?; a blank loading is zero in the fit}.",
    ),
    "held out": Template(
        note="Held out: the expected variance in new rows{units? in units of the population's standard "
        "deviations}{interval?, with its interval}; variance: the variance in these rows."
    ),
    "too few draws": Template(
        note="{level:%g} % intervals need {least|# draw|# draws} or more, and there {done|is|are} {done}: "
        "give n={least} or more (999 by default).",
        warning="{level:%g} % intervals need {least|# draw|# draws} or more.",
    ),
    "few draws": Template(
        note="With {done|# draw|# draws} another seed changes the length of an interval by about {error} %, "
        "and a share by up to {share:.2f}; with 999 draws by {error_of_many} % and {share_of_many:.2f}.",
        part="Use 999 draws for a paper.",
    ),
    "few draws of standard errors": Template(
        note="With {done|# draw|# draws} a standard error that is computed from draws (for variances, and "
        "for loadings without a jackknife) has a relative error of {error} %; with 999 draws, "
        "{error_of_many} %.",
        part="Use 999 draws for a paper.",
    ),
    "notice": Template(note="{text}", warning="{doubtful?{uncapitalised}}", remark="{doubtful?|{text}}"),
    "percentiles given": Template(
        note="Intervals take the variables as given, and are not valid if the same data selected them.",
        part="interval: percentiles of the draws, given these variables.",
    ),
    "percentiles with selection": Template(
        note="Intervals lie between percentiles of the draws, selection included: one includes zero if "
        "{share:g} % of the draws or more leave the loading out or give it the other sign.",
        part="interval: percentiles of the draws; it includes zero if {share:g} % of them or more leave the "
        "loading out or give it the other sign.",
    ),
    "loadings in brackets": Template(
        note="In brackets: {level:%g} % bootstrap intervals ({draws|# draw|# draws})."
    ),
    "zero loadings selected": Template(
        note="{number|# zero loading|# zero loadings} selected in some draws {number|is|are} not shown."
    ),
    # --- stability
    "frequency": Template(
        note="Frequencies refer to half the sample size. A variable below the threshold may still belong to "
        "the component, since weak signals are missed."
    ),
    "not recovered": Template(
        note="Scores in fits of halves hardly resemble those of the fit (mean |r|): {values}. Halves find "
        "other components, which the frequencies describe.",
        warning="scores in halves hardly resemble those of the fit (mean |r|): {values}.",
    ),
    "few halves": Template(
        note="A share of {halves|# half|# halves} has a standard error of up to {error:.2f}; with n={pairs} "
        "of {error_of_many:.2f}."
    ),
    "false bound": Template(
        note="False (bound): an upper bound on the expected number of stable variables that are rarely "
        "selected, with a probability below average in halves of the rows (Shah and Samworth, "
        "2013){known?; {bound:.2f} for the {stable|# stable loading|# stable loadings} of all "
        'components}{unknown?; "-": no guarantee, since the bound is at least half of the stable loadings}.'
    ),
    "marks of frequencies": Template(note="* {threshold:g} or more; a blank was never selected."),
    "variables shown": Template(
        note="{number} of {all|# variable|# variables} {number|is|are} shown; `frequency` lists all."
    ),
    "rarely selected": Template(
        note="Not shown: {number|# variable|# variables} that no component selects in {share:%g} % or more "
        "of the fits."
    ),
    "clusters": Template(
        note="Variables of a cluster are highly correlated, and fits of halves may exchange them: interpret "
        "the cluster, not its members."
    ),
    "associates": Template(
        note="Associates: variables that replace a selected one, and how often they are selected without and "
        "with it."
    ),
    # --- split inference
    "split inference": Template(
        part="Split inference: variables selected on {selecting|# row|# rows}, and the correlation of each "
        "with the score of the others estimated on {estimating|another row|# other rows}"
    ),
    "rows of split": Template(
        label="Rows",
        line="{selecting} to select the variables, {estimating} to estimate correlations{again?; drawn again "
        "{again|# time|# times}}{normal?; halves of normal rows with this covariance matrix}",
    ),
    "draws of split": Template(label="Draws", line="{made}{drawn?; {drawn}}"),
    "correlations of split": Template(
        note="Correlation: between the variable and the score of the component computed from the other "
        "selected variables. One half selects variables and weights, which may differ from those of the fit; "
        "the other half gives the correlation. Blank if no other variable was selected, or if it does not "
        "vary there."
    ),
    "intervals of split": Template(
        part="interval: a t interval for Fisher's z, with a jackknife standard error (where that fails, from "
        "{draws|# bootstrap sample|# bootstrap samples}).{missing? A row without numbers: no other variable "
        "was selected, or it does not vary in the other half.}"
    ),
    "p values of splits": Template(
        note="p: {repeats|# split|# splits} combined (Meinshausen, Meier and Bühlmann, 2009); the "
        "probability of any p of .05 or less is at most .05 if no variable is correlated with the others. "
        "Intervals are from the first split.",
        part="split.summary() has p-values, which combine {repeats|# split|# splits}.",
    ),
    # --- tests of loadings
    "tests of loadings": Template(
        part="Permutation tests of loadings ({interrupted?{done} of }{signs?{asked|# draw of signs|# draws "
        "of signs}|{asked|# permutation|# permutations}}{interrupted?: interrupted}): {small} of "
        "{nonzero|# nonzero loading|# nonzero loadings} with q <= {level:g}; q: false discovery rate over "
        "{tested|# test|# tests} ({procedure})"
    ),
    "null of signs": Template(
        label="Null",
        line="the variable is not associated with the other variables; signs of the contributions of groups "
        "of rows are drawn at random, since the groups are of unequal size",
    ),
    "null of groups": Template(
        label="Null",
        line="the variable is independent of all other variables; whole groups of rows are permuted",
    ),
    "null of rows": Template(
        label="Null", line="the variable is independent of all other variables, and rows are exchangeable"
    ),
    "statistic": Template(
        label="Statistic",
        line="the studentised correlation (DiCiccio and Romano, 2017) of the variable with the score of the "
        "component, which is fitted without the variable and from which the scores of the other components "
        "are partialled out",
    ),
    "p of tests": Template(
        label="p",
        line="two-sided, {done}{interrupted? of {asked}: interrupted} {signs?{done|draw|draws} of signs|"
        "{done|permutation|permutations}}; the smallest value is {least:.2g}",
    ),
    "q of tests": Template(
        label="q",
        line="false discovery rate over {tested|# test|# tests} of all variables and components "
        "({procedure})",
    ),
    "meaning of q": Template(
        note="A small q means that a variable is associated with a component, not that its loading is large. "
        "Base conclusions on q, not on p: variables are selected because they are correlated, so p is small "
        "even in noise.",
        part="Tested: the correlation of a variable with the component fitted without it. A small q does not "
        "mean a large loading.",
    ),
    "zero loadings hidden": Template(
        note="{number|# zero loading|# zero loadings} with q > .05 {number|is|are} not shown.",
        part="{number|# zero loading|# zero loadings} with q > .05 {number|is|are} not shown.",
    ),
    "few permutations": Template(
        note="With {done|# permutation|# permutations} and {tested|# test|# tests} no q is below "
        "{limit:.2g}, although {smallest|# loading has|# loadings have} the smallest possible p; {needed|n=# "
        "permutation allows|n=# permutations allow} q <= {level:g}.",
        warning="no q is below {limit:.2g}, since {done|# permutation is|# permutations are} few for "
        "{tested|# test|# tests}.",
    ),
    # --- in the summary of a fit
    "intervals in brackets": Template(
        note="In brackets: {level:%g} % bootstrap intervals, {selection} ({draws|# draw|# draws})."
    ),
    "stars": Template(
        note="{marks}: false discovery rates ({procedure}) of {draws|# permutation|# permutations}."
    ),
    "columns of intervals": Template(
        note="lower, upper: 95 % bootstrap intervals, {selection} ({draws|# draw|# draws})."
    ),
    "column of frequencies": Template(
        note="frequency: share of {halves|# fit|# fits} to half of the rows that {halves|selects|select} the "
        "variable."
    ),
    # --- comparisons of groups
    "groups compared": Template(part="Components of {number|# group|# groups}"),
    "rows of groups": Template(label="Rows", line="{sizes}{clusters?, in {clusters|# cluster|# clusters}}"),
    "common components": Template(
        label="Components", line="{k} of {p|# variable|# variables}, from covariances within groups"
    ),
    "equal slopes": Template(
        label="Test",
        line="equal slopes of variables on scores: {p} for all together ({done|# permutation|# "
        "permutations}{interrupted? of {asked}: interrupted} of {clusters?clusters|rows})",
    ),
    "differing slopes": Template(
        label="Differing",
        line="{names?{names}, with|none with} p <= .05, adjusted for all variables and components",
    ),
    "congruence of groups": Template(
        note="Congruence: absolute cosine between the loadings and those of the first principal component of "
        "the same variables within the group. % of PCA: the variance of the component relative to that of "
        "this principal component.",
        part="Congruence: cosine of the angle to the first principal component of the same variables within "
        "the group, whose variance is 100 % of PCA; p: equal slopes on a component.",
    ),
    "congruence alone": Template(
        part="Congruence: cosine of the angle to the first principal component of the same variables in the "
        "group; p: equal slopes."
    ),
    "slopes of groups": Template(
        note="A blank loading is exactly zero. A slope is cov(variable, score) / var(score); it does not "
        "depend on the variance of the component. p by component refers to all its variables; p of "
        "variables is adjusted for all variables and components."
    ),
    "few permutations of groups": Template(
        note="With {done|# permutation|# permutations} no p can be below {smallest:.2g}; give n_draws=19 or "
        "more for p <= {level:g} (999 by default).",
        warning="With {done|# permutation|# permutations} no p can be below {smallest:.2g}; give n_draws=19 "
        "or more for p <= {level:g} (999 by default).",
    ),
    "no slopes in groups": Template(
        note="Variables that do not vary in a group have no slope there, and are not tested: {names}.",
        warning="Variables that do not vary in a group have no slope there, and are not tested: {names}.",
    ),
    "dependent rows of groups": Template(
        note="Scores of successive rows are correlated (r = {r:.2f}) beyond what sorting or groups explain, "
        "and permutations treat rows as independent: give clusters=, for a time series numbers of blocks of "
        "rows, np.arange(n) // 20.",
        warning="Scores of successive rows are correlated (r = {r:.2f}) beyond what sorting or groups "
        "explain, and permutations treat rows as independent: give clusters=, for a time series numbers of "
        "blocks of rows, np.arange(n) // 20.",
    ),
}
TEMPLATES |= RESAMPLING_TEMPLATES


def intervals_label(level: float, draws: int) -> str:
    """Return the label of loadings with bootstrap intervals of this level."""
    return f"Loading with {100 * level:g} % bootstrap interval, {draws:,} draws"
