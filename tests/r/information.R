# The room of information as R sees it: Rscript tests/r/information.R path/to/python
# (a Python with nb26stats; run it outside the clone).
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)))
source(file.path(here, "tools", "common.R"))
info <- import("nb26stats.information")

# every table of two coins 100 times, so that the informations are exact
coins <- expand.grid(a = 0:1, b = 0:1, k = 1:100)
a <- coins$a; b <- coins$b; s <- as.integer(xor(a, b))
words <- function(x) c("no", "yes")[x + 1]
kinds <- list(identity, as.numeric, as.logical, words, function(x) factor(words(x)))
for (kind in kinds) {
  pid <- info$DiscretePID(bias = NULL)$fit(list(kind(a), kind(b)), kind(s))
  stopifnot(near(pid$synergy_, 1, 1e-6), near(pid$mi_, c(0, 0, 1), 1e-6))
}
frames <- info$DiscretePID()$fit(list(data.frame(p = words(a)), data.frame(q = words(b))), s)
plain <- frames$result()$to_r()
stopifnot(near(plain$synergy, 1, 1e-6), plain$measure == "broja", plain$n_samples == 400)
lattice <- info$DiscretePID("imin")$fit(list(a, b, coins$k %% 2), s)$result()
stopifnot(near(lattice$to_r()$lattice[["{01}"]], 1, 1e-6), nrow(lattice$to_frame()) == 25)
stopifnot(near(info$DiscretePID()$fit_pmf(nb_numpy(array(1 / 8, c(2, 2, 2))))$mi_, c(0, 0, 0)))
refused(info$DiscretePID()$fit(data.frame(a, b), s), "must be a list of two arrays")
refused(info$DiscretePID()$fit(list(c(NA, a[-1]), b), s), "R's NA_integer_, at 0 ")

set.seed(1)
n <- 300
m <- matrix(rnorm(n * 2), ncol = 2)
x <- cbind(m[, 1] + rnorm(n), rnorm(n)); y <- cbind(m[, 2] + rnorm(n), rnorm(n), rnorm(n))
fit <- function(...) info$GaussianPID(random_state = 0, n_bootstrap = 20)$fit(...)$unique_
from_frames <- fit(list(as.data.frame(x), as.data.frame(y)), as.data.frame(m))
from_frames <- nb_array(from_frames)
stopifnot(near(fit(list(nb_numpy(x), nb_numpy(y)), nb_numpy(m)), from_frames, 1e-12))
stopifnot(near(fit(list(V1 = nb_numpy(x), IT = nb_numpy(y)), nb_numpy(m)), from_frames, 1e-12))
joint <- cov(cbind(x, y, m))
one <- info$GaussianPID(bias = NULL)$fit_covariance(nb_numpy(joint), c(2, 3, 2))
many <- info$GaussianPID(bias = NULL)$fit_many(list(nb_numpy(joint), nb_numpy(2 * joint)), c(2, 3, 2))
stopifnot(near(many$synergy, rep(one$synergy_, 2)), near(nb_array(one$mi_)[3], one$union_ + one$synergy_))
x[7, 2] <- NA
refused(fit(list(V1 = nb_numpy(x), IT = nb_numpy(y)), nb_numpy(m)), "source 'V1' holds NaN at trial 6, column 1")

rho <- 0.8
z <- cbind(m[, 1], rho * m[, 1] + sqrt(1 - rho^2) * m[, 2])
got <- info$mutual_information(z[, 1], z[, 2])
stopifnot(near(got, -0.5 * log2(1 - cor(z)[1, 2]^2), 1e-10))
stopifnot(near(info$mutual_information(words(a), s * 1.0, method = "discrete"), 0, 1e-10))
refused(info$mutual_information(words(a), s), "for symbols there is method='discrete'")
stopifnot(identical(as.vector(table(nb_array(info$discretize(z[, 1], 4)))), rep(75L, 4)))
seen <- list(nb_numpy(diag(c(0.25, 1))), nb_numpy(diag(c(1, 0.25))))
stopifnot(near(info$union_information(seen)$value, 2))
blurred <- z + matrix(rnorm(n * 2), ncol = 2)
three <- info$union_information(sources = list(nb_numpy(blurred), as.data.frame(y), y[, 1] + rnorm(n)),
                                target = nb_numpy(m))
stopifnot(three$joint >= three$value, is.list(three$to_r()))

v1 <- array(rnorm(n * 12 * 4), c(n, 12, 4)); it <- array(rnorm(n * 12 * 3), c(n, 12, 3))
for (bin in 5:10) {
  v1[, bin, 1] <- v1[, bin, 1] + m[, 1]; it[, bin, 2] <- it[, bin, 2] + m[, 2]
}
v1 <- nb_numpy(v1); it <- nb_numpy(it); m2 <- nb_numpy(m)
when <- seq(-40, 70, by = 10)
course <- info$TimeResolvedPID(n_permutations = 99, n_bootstrap = 10, random_state = 0)
course$fit(list(V1 = v1, IT = it), m2, when)
onsets <- setNames(nb_df(course$latencies_)$onset, nb_df(course$latencies_)$atom)
stopifnot(onsets[["unique_1"]] == 0, onsets[["unique_2"]] == 0, is.na(onsets[["synergy"]]))
stopifnot(identical(dim(nb_array(course$values_)), c(1L, 1L, 7L, 12L)), course$pairs_ == "V1-IT")
stopifnot(nrow(course$result()$to_frame()) == 84, course$result()$to_r()$n_permutations == 99)
for (pairs in list(list(list("IT", "V1")), list(c("IT", "V1")))) {
  turned <- info$TimeResolvedPID(n_permutations = 99, random_state = 0, pairs = pairs)
  turned$fit(list(V1 = v1, IT = it), list(shape = m2, colour = m[, 1]), when)
  stopifnot(turned$pairs_ == "IT-V1", identical(turned$targets_, c("shape", "colour")))
}
refused(course$fit(list(v1, it), m2, when), "must map the names of areas")
refused(course$fit(list(V1 = v1, IT = it), words(s[1:n]), when), "one fewer than there are classes")
cat("OK\n")
