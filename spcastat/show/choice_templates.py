"""The sentences about choices of components and cardinalities; see :mod:`spcastat.show.templates`."""

from __future__ import annotations

from spcastat.show.templates import TEMPLATES, Template

#: Rows that change the number of components, for notes and for methods sections.
_LARGE_ROWS = (
    "{pulled} of {n|# row was|# rows were} farther from the medians of the variables than 1.5 times the "
    "median distance, in median absolute deviations, and {pulled|was|were} shrunk to that distance to "
    "predict and to test k; without this, k would be {k_unshrunk} instead of {k}. {rows|Row {names} is|Rows "
    "{names}{others? and {others|{others:,} other|{others:,} others}} are} farther than 2.5 times the median "
    "and {rows|has|have} "
    "{share:%0} % of the total variance."
)
_LARGE_IN_FIT = " The fit uses the rows as they are; a fit with robust=True is less influenced by such rows."
_SHRUNK_BRIEFLY = (
    "{pulled} of {n|# row|# rows}, farther out than 1.5 times the median distance, {pulled|was|were} shrunk "
    "to predict and to test k"
)
_LARGE_SHRUNK = "{pulled|# large row|# large rows} of {n} {pulled|was|were} shrunk to predict and test k"
_COPIES_TESTED = (
    "{pairs|# pair of variables has|# pairs of variables have} correlations beyond ±{limit:g}, such as "
    "{first} and {second}: each predicts the other, so k may be too large. Leave one of each pair out."
)
_UNTESTED = (
    "{p:,} of {variables|{variables:,} variable was|{variables:,} variables were} tested in {rows|{rows:,} "
    "row|{rows:,} rows}, about half; a sparse fit of the other rows selected these variables."
)
_SPARSENESS = (
    "{caution}{many}{dense?Every {groups?group|loading} is needed.|{count:,} of {of_cells} {nothing?were "
    "chosen|{kept}}; {rule}.}"
)

#: Why k components were chosen, and whether other folds may give another number.
_NUMBER_REASONS = (
    "{reason}{end?; {end}}.{doubt? Individual divisions into folds give {doubt}.}{close? The "
    "{close_count|gain of component|gains of components} {close} {close_count|is|are} within one "
    "standard error of the least that counts, so k is not firm.}{compared? For comparison: "
    "parallel analysis {parallel}{rules?, Kaiser {kaiser}}.}"
)

#: Facts about choices of the number of components and of cardinalities.
CHOICE_TEMPLATES: dict[str, Template] = {
    # --- the number of components
    "number of components": Template(
        label="k",
        line="{k}, since " + _NUMBER_REASONS,
        note="k = {k}: " + _NUMBER_REASONS,
        part="k = {k}: {reason}{end?; {end}}.",
        brief="{k}, {p?since component {k} improves the prediction of held-out rows and exceeds noise ({p})"
        "|by prediction of held-out rows and tests against noise}{firm?|; not firm}: choice.k_choice",
    ),
    "component predicts": Template(
        part="{single?component {last} predicts|components {first} {pair?and|to} {last} together predict} "
        "{share?a further {gain} of the|further} variance in held-out rows{simulated? simulated from this "
        "matrix}{share?|, {gain} times the mean variance of a variable,}"
        "{single?|{share?,} and component {k}} {single?and exceeds|exceeds} noise ({p})"
    ),
    "not above noise": Template(part="component {next} does not exceed noise ({p}, level {level} %)"),
    "predicts too little": Template(
        part="component {next} would add {negative?nothing|only {gain}{unclear?, less than two standard "
        "errors ({se} each)|{dense?, with all loadings (PCA); {least} is needed: {of_components}, and "
        "{of_density} for {several?every {p:,} of }{further:,} further loadings| ({least} needed: option "
        "least)}}}"
    ),
    "nothing predicted": Template(
        part="{predicting?components predict held-out rows{simulated? simulated from this matrix} but do not "
        "exceed noise|none predicts held-out rows{simulated? simulated from this matrix} clearly "
        "better than the column means{nothing?| (the first one by {gain}{share? of the variance| times the "
        "mean variance of a variable}, with a standard error of {se})}}"
    ),
    "gain": Template(part="{share?{value:%.2f} %|{value:.2f}}"),
    "least gain": Template(part="{share?{value:%.2g} %|{value:.2g}}"),
    "tested data": Template(
        label="Data",
        line="{matrix?matrix of {p|# variable|# variables}{known_n?, from {n|# row|# rows}}; rows are "
        "simulated from a normal distribution with this matrix|{known_n?{n|# row|# rows} x }{p|# variable|# "
        "variables}{dropped?, {dropped|# row|# rows} with missing values dropped}, {scaling}}",
    ),
    "nothing chosen": Template(
        line="{scaled?|Give scale=True: the variances of the columns differ by a factor of {ratio:plain2}, "
        "so that columns of large variance hide the others. }There is nothing to make sparse, since {reason}."
        " Give k= to fit nevertheless.",
        label="Why",
        note="{scaled?|Give scale=True: the variances of the columns differ by a factor of {ratio:plain2}, "
        "so that "
        "columns of large variance hide the others. }No component is chosen: {reason}. Give k= to fit "
        "nevertheless.",
    ),
    "methods of number": Template(
        methods="Components were retained if they predicted held-out{simulated? simulated normal} rows in "
        "{folds}-fold cross-validation and exceeded noise. Held-out rows were predicted by {predicting|# "
        "component|# components}: {one?it|each}{joint?, alone or together with the components just before "
        "it,|} increased the predicted variance by at least {least} of the {share?total variance|mean "
        "variance of a variable}{joint? per component|}, and by more than two standard errors. Predictions "
        "were made by sparse fits with at most as many nonzero loadings as variables{dense?, or by PCA if it "
        "predicted 1.5 times as much for each further loading per variable|}. Noise was simulated by random "
        "signs of the residuals from the earlier components (Hong, Sheng and Dobriban, 2020; up to {draws|# "
        "draw|# draws}, level {level} %), and {fewer?only {deflated|# component|# components}|{one?the "
        "component|all {predicting} components}} exceeded it.",
    ),
    "last counts": Template(
        note="{number|The only component that was compared counts|Even the last of the # components that "
        "were compared counts}; {possible?a larger kmax compares more|no more components can be compared}."
    ),
    "large rows": Template(
        label="Rows",
        line=_LARGE_ROWS + _LARGE_IN_FIT,
        remark=f"{_SHRUNK_BRIEFLY} (without this, k = {{k_unshrunk}}).",
        brief=f"{_LARGE_SHRUNK} (without this, k = {{k_unshrunk}}).",
        note=_LARGE_ROWS + _LARGE_IN_FIT,
        methods=_LARGE_ROWS.replace(" is|", " was|")
        .replace(" are}", " were}")
        .replace("|has|have}", "|had|had}"),
    ),
    "untested variables": Template(
        note=f"{_UNTESTED} Half of the rows have less power for weak components, and components of many more "
        "variables may be missed.",
        methods=_UNTESTED,
    ),
    "shrunk rows": Template(
        label="Rows",
        line="{pulled} of {n|# row|# rows} {pulled|was|were} shrunk to predict and to test k, to 1.5 times "
        "the median distance from the medians of the variables, in median absolute deviations{differs?; "
        "without this, k would be {k_unshrunk}}. The fit uses the rows as they are.",
        remark=f"{_SHRUNK_BRIEFLY}{{differs? (without this, k = {{k_unshrunk}})}}.",
        brief=f"{_LARGE_SHRUNK}{{differs? (without this, k = {{k_unshrunk}})}}.",
        methods="For predictions and tests, {pulled|# row|# rows} farther from the centre than 1.5 times the "
        "median distance {pulled|was|were} shrunk to that distance.",
    ),
    "copies tested": Template(
        label="Copies",
        line=_COPIES_TESTED,
        note=_COPIES_TESTED,
        remark="Near copies may raise k: {pairs|{short_first} and {short_second} have |# pairs of variables, "
        "such as {short_first} and {short_second}, have }|r| > {limit:g}.",
        brief="Near copies may raise k: {pairs|# pair|# pairs} of variables with |r| > {limit:g}.",
    ),
    "remark on rows": Template(
        label="Rows",
        line="{text}",
        warning="{doubtful?{uncapitalised}}",
        remark="{doubtful?|{text}}",
        brief="{brief}",
    ),
    "headings of tests": Template(
        note="predicts %: the share of the variance of held-out cells{simulated? of simulated rows} that is "
        "predicted from the other cells of their row. gain{share? %}: the increase over the last number of "
        "components that counts, {share?in % of the variance|in multiples of the mean variance of a "
        "variable}; each further component must add {least} and two standard errors (se){dense?; PCA with p "
        "loadings for each component must add 1.5 times {least} more for every p loadings beyond the first "
        "p}. next p: the p-value of the first eigenvalue after removing the earlier components{wide?, or "
        "of a sparse component}, for components that predict (level {level} %; {draws} sign flips, up to "
        "{most} if p is near the level). noise, p: parallel analysis, in which earlier components stay "
        "and may hide later ones, with the {quantile:%0} % quantile of the eigenvalue of the same rank in "
        "noise, and the p-value{large?. predicts %, next p, noise and p refer to shrunk rows, whose "
        "eigenvalues are in the column shrunk}. "
        "cum. %: the cumulative variance{tested? of the tested "
        "variables}.{rules? Broken stick: {stick}.}",
    ),
    "definition of predicts": Template(
        part="predicts %: share of the variance of held-out{simulated? simulated} rows that is predicted.",
        brief="predicts %: of the variance of held-out{simulated? simulated} rows.",
    ),
    "definition of gain": Template(
        part="gain: increase over the last component that counts{base?, below the line over {all?the {k|one|"
        "{k}} chosen|PC{base}}}, in {share?% of the variance|multiples of the mean variance of a variable} "
        "(se: standard error).",
        brief="gain: increase over the last component that counts, in {share?% of the variance|units of a "
        "variable}.",
    ),
    "definition of next p": Template(
        part="next p: test against noise after removing the earlier components (<=: no draw of noise was as "
        "large).",
        brief="next p: test against noise without the earlier components.",
    ),
    "definition of cumulative": Template(
        part="cum. %: cumulative share of the variance{tested? of the tested variables}.",
    ),
    "eigenvalues not printed": Template(
        part="{count|The last eigenvalue|The {count:,} smaller eigenvalues}: k_choice.spectrum."
    ),
    # --- the cardinalities
    "answer": Template(
        part="{k|# component|# components}{whole?, each of the {of_all} in one of them{sizes}|{dense? of all "
        "{of_all}{needed?: no sparser fit predicts nearly as well}| with {count:,} of {of_cells}{partition?, "
        "on separate variables{sizes}|{name?, {name}}}}}"
    ),
    "of all": Template(part="{p|{p:,} {groups?group|variable}|{p:,} {groups?groups|variables}}"),
    "of cells": Template(
        part="{cells|{cells:,} {groups?group of loadings|loading}|{cells:,} {groups?groups of "
        "loadings|loadings}}"
    ),
    "no short answer": Template(
        part="Many loadings are needed: half of the best prediction requires {half|{half:,} loading|{half:,} "
        "loadings}, and four fifths {fifths:,}. "
    ),
    "no clear prediction": Template(
        part="No candidate {past?predicted|predicts} {better?clearly }better than the column means{better? "
        "(the best {share:%1} % of the variance, standard error {se:%1} %)}{past?|: interpret these "
        "components with caution}. "
    ),
    "sparseness": Template(
        label="Sparse",
        line=_SPARSENESS,
        note=_SPARSENESS,
        part="{count:,} of {of_cells} {kept}; {rule}",
        brief="{caution}{dense?Every {groups?group|loading} is needed.|{count:,} of {of_cells} {nothing?were "
        "chosen|{kept}}.}",
    ),
    "share of best prediction": Template(
        part="{past?predicted|predict} {share:%0} % of the held-out variance that the best fit "
        "{past?predicted|predicts}"
    ),
    "share of most explained": Template(
        part="{past?explained|explain} {share:%0} % of the variance in these data that the best fit "
        "{past?explained|explains}"
    ),
    "share of PCA": Template(part="{past?reached|reach} {share:%1} % of dense PCA's variance"),
    "not worth adding": Template(
        part="{past?no larger fit was better by {predicted?one standard error of the difference|2 in EBIC} "
        "and, for each further {groups?group|loading}, by {price:%0} % of the mean improvement per "
        "{groups?group|loading}|further {groups?groups|loadings} {predicted?improve the prediction|lower "
        "EBIC} too little}"
    ),
    "fewest that keep": Template(
        part="{past?its loadings were|they are} the fewest of the candidates {variance?with which all "
        "components together|that} {past?reached|reach} {share:%0} %"
    ),
    "keeps too little": Template(part="no candidate {past?reached|reaches} {share:%0} %"),
    "within an error": Template(
        part="{past?it was|this is} the sparsest fit within one standard error of the smallest error"
    ),
    "within a paired error": Template(
        part="{past?it was|this is} the sparsest fit within one standard error of the difference, paired by "
        "fold"
    ),
    "within two": Template(
        part="{past?it was|this is} the sparsest fit whose EBIC {past?was|is} within 2 of the smallest"
    ),
    "best value": Template(
        part="{past?it had|this fit has} {predicted?the best prediction|the {largest?largest|smallest} "
        "{criterion}}"
    ),
    "shares in brackets": Template(
        part="In brackets: share of the total variance (adjusted: variance shared by scores counts once)."
    ),
    "fit of choice": Template(label="Fit", line="{call}"),
    "methods of choice": Template(
        methods="The numbers of {groups?groups of variables|nonzero loadings} were chosen by "
        "{predicted?{folds}-fold cross-validation{several?, repeated for {repeats} divisions into folds}, in "
        "which each held-out cell was predicted from the other cells of its row|{criterion}}. "
        "The candidates were fits with {equal?equal cardinalities}{rotated?{equal?{partitions?, | and }}the "
        "cardinalities of the largest rotated loadings}{partitions?{equal?{rotated?,} and }partitions of the "
        "variables}.",
    ),
    "criterion ebic": Template(part="the extended Bayesian information criterion (EBIC)"),
    "criterion bic": Template(part="the BIC of Allen and Maletic-Savatic"),
    "criterion is": Template(part="the index of sparseness"),
    "criterion variance": Template(part="the share of dense PCA's variance that they explained"),
    "methods of rule": Template(
        methods='{caution}{dense?Every {groups?group|loading} was needed{named? (rule "{name}")}.|'
        "{nothing?The fit was chosen by cross-validation|The chosen fit {kept}}"
        '{named? (rule "{name}"): |; }{rule}.}'
    ),
    "not firm": Template(
        label="Doubt",
        line="{divided?other divisions of the rows give {low:,} to {high:,} {groups?{high|group|groups}|"
        "{high|loading|loadings}}}{both?; }{alike?{alike|# other fit|# other fits}, with {fewest:,}"
        "{several? to {most:,}} {groups?{most|group|groups}|{most|loading|loadings}}, "
        "{alike|predicts|predict} equally well, within one standard error}.",
        note="The number of {groups?groups of loadings|loadings} is not firm: {divided?individual "
        "divisions into folds ({repeats} of them) give {low:,} to {high:,}}{both?; }{alike?{alike|# other "
        "candidate|# other candidates}, with {fewest:,}{several? to {most:,}}, {alike|differs|differ} by "
        "at most one standard error of the difference of held-out errors}.",
    ),
    "firm": Template(
        label="Firm",
        line="all {repeats} divisions of the rows give {count|{count:,} {groups?group|loading}|{count:,} "
        "{groups?groups|loadings}}.",
    ),
    "EBIC instead": Template(note="EBIC would choose {name} ({count|{count:,} loading|{count:,} loadings})."),
    "few rows": Template(
        note="With {n|# row|# rows} the rule of one standard error tends to select too few loadings; "
        "rule='worth' and rule='paired' compare by fold and select more."
    ),
    "single variable": Template(
        note="PC{place} is a single variable, {name}: a second one does not improve prediction."
    ),
    "heading of predicts": Template(
        part="predicts %: of the variance of held-out cells, from the other{groups? groups|s} of their row"
    ),
    "heading of best by error": Template(part="of best %: relative to the best of all candidates and PCA"),
    "heading of best": Template(
        part="of best %: the share of variance explained in these data, relative to the largest of all "
        "candidates"
    ),
    "heading of PCA's": Template(part="of PCA's: adjusted variance in % of the variance that PCA explains"),
    "heading of PEV": Template(part="PEV: % of the variance reproduced by projection on the loadings"),
    "two predictions": Template(
        note="For a number of components, predicts % refers to the best fit with at most as many loadings "
        "as variables{dense?, or to PCA}, in {folds} folds of the rows{large?, with large rows shrunk}. For "
        "a candidate and for PCA below, it refers to fits with these loadings, in {folds_of_choice} folds "
        "of the unchanged rows. The values need not agree."
    ),
    "heading of EBIC": Template(part="EBIC: difference from the smallest"),
    "heading of IS": Template(part="IS: index of sparseness"),
}
TEMPLATES |= CHOICE_TEMPLATES
