# What R's own values become: NA of every kind, doubles, factors, named lists, ragged lists.
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)))
source(file.path(here, "tools", "common.R"))

n <- 240
set.seed(1)
d <- data.frame(a = sample(9L, n, TRUE), b = sample(9L, n, TRUE), c = rnorm(n))
arm <- factor(sample(c("control", "drug"), n, TRUE))
y <- rnorm(n) + 3 * (arm == "drug" & d$a > 4)

# a data frame and a named list of columns are the same table; a factor names the arms
fit <- function(x, t = arm, out = y) nb$NonparametricC2G(n_bootstrap = 20, random_state = 0)$fit(x, out, treatment = t)
model <- fit(d)
stopifnot(near(model$lfdr_, fit(as.list(d))$lfdr_), identical(as.vector(nb_array(model$feature_names_in_)), names(d)))
stopifnot(near(nb$OjaPCA(1, random_state = 0)$fit(d)$components_, nb$OjaPCA(1, random_state = 0)$fit(as.list(d))$components_))
refused(fit(list(a = 1:5, b = 1:4)), "columns of one length, got 'a' 5, 'b' 4")

# NA_integer_ is seen and named, wherever it stands; NA_real_ is NaN
gone <- d
gone$b[4] <- NA
refused(fit(gone), "NA_integer_, at row 3, column 'b'")
refused(nb$OjaPCA(1)$fit(as.list(gone)), "NA_integer_, at row 3, column 'b'")
refused(nb$GaussianPID()$fit(list(gone, y), rev(y)), "NA_integer_")
refused(nb$DNNLearningRule("1L")$fit(gone, rep(c(0, 1), n / 2), rewards = rep(1, n)), "NA_integer_")
refused(nb$q_values(c(0L, NA, 1L)), "NA_integer_, at 1 ")
refused(nb$DiscretePID()$fit(list(gone$b, d$a), d$a), "NA_integer_, at 3 ")
holes <- y
holes[4] <- NA
refused(fit(d, out = holes), "y in 1")
refused(nb$two_groups(rep(c(holes), 2)), "3")

# 2 is two, 2.5 is not, TRUE is no number
refused(nb$OjaPCA(2.5)$fit(d), "n_components must be a whole number")
refused(nb$OjaPCA(TRUE)$fit(d), "n_components must be a whole number")
refused(nb$OjaPCA(NA_integer_)$fit(d), "NA_integer_")
big <- nb$OjaPCA(2, random_state = 3e9)$fit(d)                          # beyond the whole numbers of R
stopifnot(near(big$components_, nb$OjaPCA(2, random_state = 3000000000)$fit(d)$components_))

# what Python cannot see stops here
stops <- d
stops$light <- rep(c(TRUE, NA), n / 2)
refused(nb_df(stops), "column 'light' holds NA at row 2, which Python reads as TRUE")
stops$light <- rep(c("on", NA), n / 2)
refused(nb_df(stops), "column 'light' holds NA at row 2, which Python reads as the text \"NA\"")
stopifnot(identical(nb_df(d), d))
refused(nb_mask(c(TRUE, NA)), "x holds NA at 2")
refused(fit(d, t = ifelse(seq_len(n) %% 2 == 0, "drug", NA_character_)), "NA_character_")

# ragged lists, and vectors of one
refused(fit(list(c(1, 2), 3)), "one length")
stopifnot(identical(dim(nb_array(nb$encode_contrast(0.5))), c(1L, 3L)))
cat("OK\n")
