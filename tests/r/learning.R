# The room of learning as R sees it: Rscript tests/r/learning.R path/to/python
# (a Python with nb26stats; run it outside the clone).
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)))
source(file.path(here, "tools", "common.R"))
rules <- import("nb26stats.learning")

# an animal that follows the contrast more and more
set.seed(1)
n <- 600
contrast <- sample(c(-0.5, -0.25, 0.25, 0.5), n, replace = TRUE)
right <- contrast > 0
choice <- ifelse(runif(n) < seq(0.5, 0.95, length.out = n), right, !right) * 1
reward <- (choice == right) * 1
day <- rep(c("a", "b", "c"), each = n / 3)
X <- nb_array(rules$encode_contrast(contrast))
stopifnot(identical(dim(X), c(600L, 3L)), near(X[1:3, 3], c(1, 1, 1)))
refused(rules$encode_contrast(100 * contrast), "percent")

frame <- as.data.frame(X)
X <- nb_numpy(X)
# whole numbers are doubles here; matrices, data frames and factors are what R has
rule <- rules$DNNLearningRule("1L", rule = "rpe", n_restarts = 3, n_pool = 20, random_state = 4,
                              verbose = FALSE)
fit <- rule$fit(X, choice, rewards = reward, sessions = day)
stopifnot(fit$n_params_ == 8, fit$seed_ == 4, identical(dim(nb_array(fit$weights_)), c(601L, 6L)))
stopifnot(fit$params_$alpha > 0, identical(dim(nb_array(fit$params_$W1)), c(2L, 3L)))
again <- rules$DNNLearningRule("1L", rule = "rpe", n_restarts = 3L, n_pool = 20L,
                               random_state = 4L, verbose = FALSE)
again$fit(frame, as.integer(choice), rewards = as.integer(reward), sessions = factor(day))
stopifnot(near(again$theta_, nb_array(fit$theta_), 1e-12))
refused(rules$DNNLearningRule("1L", hidden = TRUE)$fit(X, choice, rewards = reward), "hidden")
refused(rule$fit(X, choice), "both None")
refused(rule$fit(X, c(NA, choice[-1]), rewards = reward), "without a response")
refused(rule$fit(X, choice + 1, rewards = reward), "must hold 0 (left) or 1")

estimates <- nb_df(fit$to_frame())
stopifnot(nrow(estimates) == 8, near(estimates$estimate[7], fit$params_$alpha, 1e-12))
p <- nb_array(fit$one_step_proba(X, choice, rewards = reward))
stopifnot(identical(dim(p), c(600L, 2L)), near(rowSums(p), rep(1, n), 1e-12))
stopifnot(near(fit$score(X, choice, rewards = reward), fit$loglik_ / n, 1e-10))
at <- fit$log_likelihood(fit$theta_, X, choice, reward, return_grad = TRUE)
stopifnot(near(at[[1]], fit$loglik_, 1e-10), length(nb_array(at[[2]])) == 8)
run <- fit$simulate(X, right * 1, n_runs = 5, random_state = 1)
stopifnot(identical(dim(nb_array(run$choice)), c(5L, 600L)), nrow(nb_df(run)) == 3000)

curve <- fit$learning_curve(X, choice, rewards = reward, window = 100, n_runs = 20, random_state = 1)
frame <- nb_df(curve)
stopifnot(nrow(frame) == 6, frame$accuracy[6] > frame$accuracy[1], is.list(curve$to_r()))
profile <- fit$profile_likelihood("alpha", fit$params_$alpha * c(0.5, 1, 2), X, choice, rewards = reward)
stopifnot(nrow(nb_df(profile)) == 3, profile$to_r()$name == "alpha")
held <- fit$cross_val_blocks(X, choice, rewards = reward, sessions = day, n_blocks = 3)
stopifnot(length(nb_array(held$block_loglik)) == 3, sum(nb_array(held$block_n)) == n)

table <- data.frame(animal = "m1", contrast, choice, reward, session = day)
made <- nb_df(rules$compare_architectures(table, architectures = c("1L", "2L"), n_restarts = 3, n_pool = 20,
                                    random_state = 0))
stopifnot(nrow(made) == 2, min(made$daic) == 0, made$k[1] == 4)
stopifnot(nrow(rules$compare_architectures(table, architectures = "1L", random_state = 0)) == 1)

metrics <- nb_df(rules$behavior_metrics(contrast, choice, sessions = day))
stopifnot(nrow(metrics) == 3, metrics$session == c("a", "b", "c"))
by_hand <- mean((choice == right)[1:200])
stopifnot(near(metrics$accuracy[1], by_hand), nrow(rules$behavior_metrics(contrast, choice, window = 150)) == 4)
curve <- rules$fit_psychometric(contrast, choice, lapses = FALSE)
stopifnot(curve$slope > 0, curve$converged, is.list(curve$to_r()))
saved <- tempfile(fileext = ".png")
plots <- import("nb26stats.plotting")
with(plots$style(offscreen = TRUE), fit$plot(inputs = c("left", "right", "1"))[[1]]$figure$savefig(saved))
stopifnot(file.size(saved) > 1000)
cat("OK\n")
