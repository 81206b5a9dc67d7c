# What the scripts of this folder share: their Python, the helpers, two ways to test.
suppressPackageStartupMessages(library(reticulate))
use_python(commandArgs(trailingOnly = TRUE)[1], required = TRUE)
nb <- import("nb26stats")
source(nb$r$helper())
invisible(import("warnings")$simplefilter("ignore"))
near <- function(a, b, by = 1e-8) {
  isTRUE(all.equal(as.vector(nb_array(a)), as.vector(nb_array(b)), tolerance = by))
}
refused <- function(call, words) {
  said <- tryCatch({ call; "" }, error = conditionMessage)
  if (!grepl(words, said, fixed = TRUE)) stop("expected '", words, "', got '", said, "'")
}
