# The room of responders as R sees it: Rscript tests/r/causal.R path/to/python
# (a Python with nb26stats; run it outside the clone).
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)))
source(file.path(here, "tools", "common.R"))

# classical tools
set.seed(1)
z <- rnorm(2000); z[1:200] <- z[1:200] + 3
groups <- nb$two_groups(z)
stopifnot(abs(groups$sigma - 1) < 0.1, length(groups$select(0.1)) > 60)
stopifnot(near(nb$local_fdr(z), groups$lfdr), is.list(groups$to_r()), nrow(nb_df(groups)) == 2000)
stopifnot(near(nb$two_groups(z, null = c(0, 1))$sigma, 1), near(nb$two_groups(z, df = 7)$p0, groups$p0))
p <- 2 * pnorm(-abs(z))
stopifnot(near(nb$q_values(p, pi0 = 1)$q, p.adjust(p, "BH")))
stopifnot(nb$q_values(p)$pi0 < 1, max(nb_array(nb$grenander_lfdr(p))) <= 1)
refused(nb$two_groups(c(z, NA)), "missing or infinite")
refused(nb$two_groups(z, df = 6.5), "df must be a whole number")
refused(nb$q_values(c(0.5, 2)), "p must lie in [0, 1]")

# survival times
x <- matrix(rnorm(800), ncol = 2)
life <- rexp(400) * exp(x[, 1]); limit <- rexp(400, 0.2)
arm <- rep(0:1, 200)
s <- nb$survival_residual_z(pmin(life, limit), life <= limit, as.data.frame(x), treatment = arm)
stopifnot(length(nb_array(s)) == 400, abs(mean(nb_array(s))) < 0.3)

# responders: a trial in which half of the treated gain five units
n <- 500
X <- data.frame(age = rnorm(n), weight = rnorm(n))
treated <- rbinom(n, 1, 0.5)
responds <- treated == 1 & runif(n) < 0.5
y <- X$age + rnorm(n) + 5 * responds
fit <- function(model, ...) model$fit(X, y, treatment = treated)
models <- list(
  nb$NonparametricC2G(randomized = TRUE, n_bootstrap = 50, random_state = 1),
  nb$SemiparametricC2G(randomized = TRUE, random_state = 1)
)
for (model in models) {
  fit(model)
  chosen <- as.integer(unlist(nb_array(model$select()))) + 1L
  stopifnot(length(chosen) > 50, mean(!responds[chosen]) < 0.25, all(treated[chosen] == 1))
  table <- nb_df(model)
  stopifnot(nrow(table) == n, nchar(model$summary()) > 200)
  share <- model$estimand_interval("erpf")
  stopifnot(share$lower <= share$upper, is.list(share$to_r()), is.list(model$result()$to_r()))
  old <- nb_array(model$lfdr_)
  for (kind in list(treated == 1, as.numeric(treated), factor(ifelse(treated == 1, "drug", "control"),
                    levels = c("control", "drug")), ifelse(treated == 1, "drug", "control"))) {
    if (is.character(kind) || is.factor(kind)) kind <- as.character(kind)
    model$fit(nb_numpy(X), y, treatment = kind)
    # drug comes after control, so the words say the same
    stopifnot(near(model$lfdr_, old, 1e-12))
  }
  refused(model$fit(X, y), "treatment")
  refused(model$fit(X, replace(y, 3, NA), treatment = treated), "y")
  refused(model$fit(data.frame(a = c(NA, X$age[-1])), y, treatment = treated), "X")
  refused(model$fit(X, y, treatment = c(NA_integer_, treated[-1])), "treatment")
  refused(model$fit(data.frame(g = factor(rep(c("a", "b"), n / 2))), y, treatment = treated), "g (")
  refused(model$set_params(q = 2)$fit(X, y, treatment = treated), "q=2")
  model$set_params(q = 0.1)
}
nhefs <- nb_df(nb$datasets$load_nhefs())
stopifnot(nrow(nhefs) == 1566)
trial <- nb$datasets$simulate_additive(300, 3, random_state = 1)
stopifnot(nrow(nb_array(trial$X)) == 300)
cat("OK\n")
