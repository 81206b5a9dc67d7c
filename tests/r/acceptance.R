# From R to scikit-learn and to spike counts and back: Rscript tests/r/acceptance.R path/to/python
library(reticulate)
use_python(commandArgs(trailingOnly = TRUE)[1], required = TRUE)
nb <- import("nb26stats")
source(nb$r$helper())
nb_check()

# through scikit-learn, without R's own bridge to NumPy
X <- iris[iris$Species != "virginica", 1:4]
y <- as.integer(iris$Species[iris$Species != "virginica"] == "versicolor")
r <- nb$r$demo_logistic(X, y, max_iter = 1000) # double on purpose
stopifnot(all(abs(unlist(r$coef) - c(0.4391, -0.9085, 2.3093, 0.9601)) < 1e-3))

# a recording
s <- nb_open(nb$datasets$path("sub_anm00239123_ses_20170627T093549_ecephys_and_ogen.nwb"))
sc <- s$spike_counts(align_to = "cue_start_time", window = c(-1, 2), bin_size = 0.1)
a <- nb_array(sc$to_r()$counts$Thalamus)
stopifnot(identical(dim(a), c(342L, 30L, 4L)), sum(a) == 10670)
b <- nb_df(s$behavior())
stopifnot(nrow(b) == 412, sum(b$reward) == 175)
s$close()
cat("OK\n")
