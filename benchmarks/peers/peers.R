# Rscript peers.R DIR [peer ...]: fit the installed R packages to every line of DIR/cells.csv.
#
# DIR/NAME.csv has the rows. Loadings go to DIR/found/PEER-NAME-k-card.csv, and CPU seconds, versions
# and reasons why there are none to DIR/found/PEER.csv. A file that is there is not made again.
arguments <- commandArgs(TRUE)
folder <- arguments[1]

share <- function(V, S) {
  V <- qr.Q(qr(V[, colSums(V^2) > 0, drop = FALSE]))
  sum(V * (S %*% V)) / sum(diag(S))
}

# The `card` largest loadings of each component: what a method with a penalty alone is compared by.
cut_off <- function(V, card) apply(V, 2, function(v) replace(v, rank(-abs(v), ties.method = "first") > card, 0))

# The fit along `penalties` that keeps the largest share once it is cut off.
along <- function(penalties, fit, S, card) {
  tried <- lapply(penalties, function(a) tryCatch(cut_off(fit(a), card), error = function(e) NULL))
  tried <- Filter(function(V) !is.null(V) && all(is.finite(V)) && any(V != 0), tried)
  tried[[which.max(sapply(tried, share, S = S))]]
}

# Up to how many variables a program is run; beyond, it takes minutes a fit.
most <- c(msPCA = 500, elasticnet = 200, sparsepca = 200)

peers <- list(
  msPCA = function(X, S, k, card) msPCA::mspca(S, k, rep(card, k), verbose = FALSE)$x_best,
  elasticnet = function(X, S, k, card) {
    elasticnet::spca(S, K = k, para = rep(card, k), type = "Gram", sparse = "varnum")$loadings
  },
  nsprcomp = function(X, S, k, card) nsprcomp::nsprcomp(X, ncomp = k, k = rep(card, k))$rotation,
  abess = function(X, S, k, card) {
    sizes <- as.list(rep(card, k))
    fit <- abess::abesspca(X, support.size = sizes, sparse.type = "kpc", kpc.num = k, num.threads = 1)
    sapply(fit$coef, function(b) as.matrix(b)[, 1])
  },
  mixOmics = function(X, S, k, card) {
    mixOmics::spca(X, ncomp = k, keepX = rep(card, k), center = TRUE, scale = FALSE)$loadings$X
  },
  PMA = function(X, S, k, card) {
    fit <- function(a) PMA::SPC(X, sumabsv = a, K = k, trace = FALSE)$v
    along(seq(1, sqrt(2 * card), length.out = 15), fit, S, card)
  },
  sparsepca = function(X, S, k, card) {
    fit <- function(a) sparsepca::spca(X, k = k, alpha = a, verbose = FALSE)$loadings
    along(10^seq(-4, -0.5, length.out = 15), fit, S, card)
  },
  amanpg = function(X, S, k, card) {
    fit <- function(a) {
      amanpg::spca.amanpg(X, lambda1 = rep(a, k), lambda2 = Inf, k = k, verbose = FALSE)$loadings
    }
    along(10^seq(-1, 1.5, length.out = 15), fit, S, card)
  },
  spca = function(X, S, k, card) {
    fit <- function(a) spca::spca(S, n_comps = k, alpha = a, method = "uspca")$loadings
    along(seq(0.5, 0.99, length.out = 15), fit, S, card)
  }
)
if (length(arguments) > 1) peers <- peers[arguments[-1]]

cells <- read.csv(file.path(folder, "cells.csv"), colClasses = c("character", "integer", "integer"))
dir.create(file.path(folder, "found"), showWarnings = FALSE)
for (name in names(peers)) {
  log <- file.path(folder, "found", paste0(name, ".csv"))
  if (!requireNamespace(name, quietly = TRUE)) {
    cat("is not installed here\n", file = log)
    next
  }
  cat(name, as.character(packageVersion(name)), "\n")
  for (i in seq_len(nrow(cells))) {
    cell <- cells[i, ]
    target <- file.path(folder, "found", paste0(paste(name, cell$data, cell$k, cell$card, sep = "-"), ".csv"))
    if (file.exists(target)) next
    X <- as.matrix(read.csv(file.path(folder, paste0(cell$data, ".csv")), header = FALSE))
    if (isTRUE(ncol(X) > most[name])) next
    S <- cov(X)
    begun <- sum(proc.time()[1:2])
    runs <- 0
    repeat { # R's clock counts hundredths of a second
      set.seed(1)
      V <- tryCatch(peers[[name]](X, S, cell$k, cell$card), error = function(e) conditionMessage(e))
      runs <- runs + 1
      total <- sum(proc.time()[1:2]) - begun
      if (is.character(V) || total >= 0.2) break
    }
    seconds <- total / runs
    line <- c(cell$data, cell$k, cell$card, as.character(packageVersion(name)), signif(seconds, 3), "")
    if (is.character(V)) line[6] <- gsub("[,\"\n]", " ", V)
    else write.table(V, target, sep = ",", row.names = FALSE, col.names = FALSE)
    cat(paste(line, collapse = ","), "\n", file = log, append = TRUE)
  }
}
