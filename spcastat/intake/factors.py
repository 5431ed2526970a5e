"""The indicators that a formula makes of factors, for analyses of mixed data."""

from __future__ import annotations

import numpy as np

from spcastat.config import listed, shown
from spcastat.errors import ConstantColumnError, OptionError
from spcastat.intake.design import Design


def factor_columns(design: Design) -> dict[str, np.ndarray]:
    """Return the places of the indicators of the levels of each factor, by the name of the factor.

    Parameters
    ----------
    design : Design
        Of dense rows, where it has factors.

    Raises
    ------
    OptionError
        For interactions with a factor, and for contrasts other than one indicator for each level.
    ConstantColumnError
        For a factor of one level, and for levels that only rows of weight zero have.
    """
    model = design.spec.model_spec
    if model is None:
        return {}
    labels, found = [str(label) for label in design.spec.columns], {}
    for term in model.terms:
        parts = [part.text for part in term if part.method != "literal"]
        if not set(parts) & set(model.encodings):
            continue
        name = ":".join(parts)
        places = np.array([j for j, label in enumerate(labels) if label.startswith(f"{name}[")], dtype=int)
        X = np.asarray(design.matrix)[:, places]
        if len(parts) > 1 or not (np.isin(X, (0.0, 1.0)).all() and (X.sum(axis=1) == 1.0).all()):
            raise OptionError(
                f"scale='mixed' was given with the term {shown(name)}, whose columns are not one indicator "
                "for each level of one factor. Make a column of the combined levels first, or leave the term "
                "and its contrasts out."
            )
        shares = np.average(X, axis=0, weights=design.weights)
        if shares.max() == 1.0:
            raise ConstantColumnError(
                f"Factor {shown(name)} has one level only in the rows whose weight is not zero, so it has no "
                "variance. Leave it out."
            )
        if shares.min() == 0.0:
            empty = [labels[j] for j in places[shares == 0.0]]
            raise ConstantColumnError(
                f"Only rows of weight zero have {listed(empty)}; scale='mixed' divides by the root of the "
                "level's share of the weight. Leave these rows out."
            )
        found[name] = places
    return found
