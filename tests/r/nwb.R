# Files and trials as R sees them: Rscript tests/r/nwb.R path/to/python
# (a Python with nb26stats; run it outside the clone).
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)))
source(file.path(here, "tools", "common.R"))

file <- as.character(nb$datasets$path("sub_anm00239123_ses_20170627T093549_ecephys_and_ogen.nwb"))
s <- nb_open(file)
trials <- nb_df(nb_df(nb$nwb$trials(s)))                               # twice is once, NA in text and all
units <- nb_df(nb$nwb$units(s))
stopifnot(nrow(trials) == 412, nrow(units) == 4, !is.null(trials$start_time))
counts <- function(...) {
  s$spike_counts(align_to = "cue_start_time", window = c(-1, 2), bin_size = 0.1, ...)$to_r()
}
all <- counts()
a <- nb_array(all$counts$Thalamus)
stopifnot(identical(dim(a), c(342L, 30L, 4L)), sum(a) == 10670)
stopifnot(nb_array(all$trial1) >= 1, identical(nb_array(all$unit1$Thalamus), 1:4))

# R counts from 1 and knows NA
lick <- trials$response == "correct"
by_mask <- nb_array(counts(trials = nb_mask(lick))$counts$Thalamus)
by_rows <- nb_array(counts(trials = nb_rows(which(lick)))$counts$Thalamus)
stopifnot(identical(by_mask, by_rows), dim(by_mask)[1] == sum(lick))
refused(nb_mask(c(lick[-1], NA)), "x holds NA at 412")
refused(nb_rows(0), "from 1 on")
refused(nb_rows(c(1, NA)), "from 1 on")
refused(s$spike_counts(align_to = "nonsense", window = c(-1, 2), bin_size = 0.1), "nonsense")
refused(nb_open("no/such/file.nwb"), "no/such/file.nwb")

behavior <- nb_df(s$behavior())
stopifnot(nrow(behavior) == 412, sum(behavior$reward) == 175)
learned <- nb$nwb$to_learning(s$behavior())
stopifnot(is.list(learned))
s$close()

out <- tempfile(fileext = ".nwb")
before <- unname(tools::md5sum(file))
invisible(nb$nwb$save_results(file, list(rates = data.frame(unit = 1:4, rate = c(1.5, 2, 0.5, 3))), out))
stopifnot(file.exists(out), identical(unname(tools::md5sum(file)), before))

# one table per form
stopifnot(nrow(nb_df(list(a = list(1, NULL, 3), b = list("u", "v", NULL)))) == 3)
frame <- nb_df(nb$datasets$load_nhefs())
stopifnot(nrow(frame) == 1566)
big <- nb$r$to_r(list(2^31, 2^53))
stopifnot(identical(unlist(big), c(2^31, 2^53)))
cat("OK\n")
