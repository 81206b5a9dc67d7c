# The room of streaming as R sees it: Rscript tests/r/streaming.R path/to/python
# (a Python with nb26stats; run it outside the clone).
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)))
source(file.path(here, "tools", "common.R"))

set.seed(1)
x <- matrix(rnorm(30000), ncol = 10) %*% diag(c(3, 2, rep(1, 8)))
fit <- function(x, ...) nb$OjaPCA(2, n_bootstrap = 99, random_state = 0, ...)$fit(x)
pca <- fit(nb_numpy(x))
v <- nb_array(pca$components_)
stopifnot(identical(dim(v), c(2L, 10L)), abs(v[1, 1]) > 0.95, abs(v[2, 2]) > 0.95)
# PCA of R itself finds the same plane
own <- prcomp(x)$rotation[, 1:2]
stopifnot(min(svd(v %*% own)$d) > 0.98)
stopifnot(near(fit(as.data.frame(x))$components_, v, 1e-12))
stopifnot(pca$seed_ == 0, pca$n_samples_seen_ == 3000, nchar(pca$summary()) > 100)

both <- pca$component_intervals(level = 0.9)
loadings <- nb_df(pca$to_frame(level = 0.9))
stopifnot(nrow(loadings) == 20, near(loadings$loading, as.vector(t(v)), 1e-12))
lower <- nb_array(both[[1]]); upper <- nb_array(both[[2]])
stopifnot(all(lower <= upper), lower[1, 1] <= v[1, 1], v[1, 1] <= upper[1, 1])
history <- nb_df(pca$error_history())
stopifnot(nrow(history) > 1, is.numeric(history[[2]]))
regions <- pca$row_regions()
stopifnot(length(nb_array(regions$nonzero)) == 10, is.list(nb_result(pca$subspace_test(nb_numpy(own)))))
scores <- nb_array(pca$transform(nb_numpy(x)))
stopifnot(identical(dim(scores), c(3000L, 2L)))
stopifnot(identical(dim(nb_array(pca$inverse_transform(nb_numpy(scores)))), dim(x)))

# a stream in pieces, and two streams joined
parts <- lapply(split(1:3000, rep(1:2, each = 1500)), function(i) {
  est <- nb$OjaPCA(2, n_bootstrap = 9, learning_rate = "constant", eta0 = 0.01, random_state = i[1])
  for (k in split(i, rep(1:3, each = 500))) est$partial_fit(nb_numpy(x[k, ]))
  est
})
joined <- nb$OjaPCA$merge(unname(parts))
stopifnot(joined$n_samples_seen_ == 3000, abs(nb_array(joined$components_)[1, 1]) > 0.9)
theory <- nb$oja_asymptotic_covariance(nb_numpy(diag(c(4, 2, 1, 0.5))), 1, eta = 0.01, n = 1500)
stopifnot(nrow(nb_df(theory)) == 3, abs(nb_array(theory$entry_variance)[1] - 0.0194) < 1e-4)

# what R hands over that is not what it seems
refused(fit(nb_numpy(replace(x, 5, NA))), "NaN")
refused(fit(data.frame(a = c(1L, NA, 3L), b = c(1L, 2L, 4L))), "NA")
refused(fit(data.frame(a = factor(c("u", "v")), b = c(1, 2))), "")
refused(nb$OjaPCA(2.5)$fit(nb_numpy(x)), "n_components must be a whole number")
refused(nb$OjaPCA(TRUE)$fit(nb_numpy(x)), "n_components")
refused(nb$OjaPCA(2, random_state = NA_integer_)$fit(nb_numpy(x)), "NA_integer_")
refused(nb$OjaPCA(NA)$fit(nb_numpy(x)), "n_components")
refused(nb_numpy(c(TRUE, NA)), "Python reads as TRUE")
refused(nb_numpy("a"), "must hold numbers")
stopifnot(nb$OjaPCA(1, random_state = 2^40)$fit(nb_numpy(x))$get_params()$random_state == 2^40)
cat("OK\n")
