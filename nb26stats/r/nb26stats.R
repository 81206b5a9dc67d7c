# Helpers for R beside reticulate: source(import("nb26stats")$r$helper())
# Base R and reticulate only; results cross as plain lists, so that any NumPy and pandas will do.

.nb <- function(module = "r") reticulate::import(paste0("nb26stats.", module))
.nb_is_py <- function(x) inherits(x, "python.builtin.object")
# what R's own bridge cannot read: an old reticulate beside NumPy 2 or pandas 3
.nb_old <- function() utils::packageVersion("reticulate") < "1.38"
.nb_major <- function(package) {
  as.integer(sub("\\..*", "", .nb()$versions()[[package]]))
}
.nb_column <- function(x) {
  x <- lapply(x, function(v) if (is.null(v)) NA else v)
  if (any(lengths(x) != 1L)) x else unlist(x, use.names = FALSE)
}

.nb_seen <- function(x, column) {
  if (is.numeric(x) || !anyNA(x)) return(invisible())
  stop("column '", column, "' holds NA at row ", which(is.na(x))[1L], ", which Python reads as ",
       if (is.logical(x)) "TRUE" else "the text \"NA\"", "; leave out such rows", call. = FALSE)
}

# a data.frame from a data.frame, a pandas table, a result with to_frame(), or a list of columns;
# stops where R's own holds an NA that Python would read as a value
nb_df <- function(x) {
  if (is.data.frame(x)) {
    if (isTRUE(attr(x, "from_python"))) return(x)
    # reticulate keeps the row names of pandas apart; a table without any is on its way to Python
    rows <- attr(x, "pandas.index")
    if (is.null(rows)) {
      for (column in names(x)) .nb_seen(x[[column]], column)
      return(x)
    }
    attr(x, "pandas.index") <- NULL
    named <- .nb()$columns(rows)
    if (length(named)) {
      row.names(x) <- NULL
      x <- cbind(nb_df(named), x)
    }
    return(structure(x, from_python = TRUE))
  }
  if (.nb_is_py(x)) {
    if (reticulate::py_has_attr(x, "to_frame") && !reticulate::py_has_attr(x, "iloc"))
      return(nb_df(x$to_frame()))
    return(structure(nb_df(.nb()$columns(x)), from_python = TRUE))
  }
  if (!is.list(x) || is.null(names(x))) stop("x must be a table or a list of named columns")
  out <- lapply(x, .nb_column)
  if (length(unique(lengths(out))) > 1L) stop("columns must have one length, got ",
                                               paste(lengths(out), collapse = ", "))
  n <- if (length(out)) length(out[[1L]]) else 0L
  structure(out, class = "data.frame", row.names = .set_row_names(n))
}

# an R array from NumPy's, or from the list(data, dim) that to_r() gives
nb_array <- function(x) {
  if (.nb_is_py(x)) x <- .nb()$to_r(x)
  if (!is.list(x) || is.null(x$dim)) return(if (is.list(x)) .nb_column(x) else x)
  dim <- as.integer(unlist(x$dim))
  data <- if (length(x$data)) .nb_column(as.list(x$data)) else numeric()
  if (length(dim) == 1L) data else array(data, dim)
}

# NumPy's array from a vector, matrix or array of numbers, whatever NumPy is installed
nb_numpy <- function(x) {
  if (is.data.frame(x)) x <- as.matrix(x)
  if (is.logical(x) && anyNA(x)) stop("x holds NA at ", which(is.na(x))[1L], ", which Python reads as TRUE")
  if (!is.numeric(x) && !is.logical(x)) stop("x must hold numbers, got ", class(x)[1L])
  shape <- as.list(if (is.null(dim(x))) length(x) else dim(x))
  .nb()$from_bytes(writeBin(as.double(x), raw(), endian = "little"), shape)
}

# masks and positions: Python counts from 0, and sees NA as TRUE
nb_mask <- function(x) {
  if (!is.logical(x)) stop("x must be logical, got ", class(x)[1L])
  if (anyNA(x)) stop("x holds NA at ", which(is.na(x))[1L], "; decide for TRUE or FALSE first")
  as.list(x)
}
nb_rows <- function(i) {
  if (!is.numeric(i)) stop("i must hold positions, got ", class(i)[1L])
  bad <- which(is.na(i) | i < 1 | i != floor(i))
  if (length(bad)) stop("i must hold whole numbers from 1 on, got ", i[bad[1L]], " at ", bad[1L])
  as.list(as.integer(i - 1))
}

nb_open <- function(path) {
  .nb("nwb")$open(if (is.character(path)) path.expand(path) else path)
}

# versions, and what to do where they do not fit together
nb_check <- function() {
  seen <- .nb()$versions()
  seen <- c(R = paste(R.version$major, R.version$minor, sep = "."),
            reticulate = as.character(utils::packageVersion("reticulate")), unlist(seen))
  writeLines(paste0(format(names(seen)), "  ", seen))
  if (.nb_old() && .nb_major("numpy") >= 2L)
    writeLines(c("This reticulate cannot send matrices to NumPy 2: wrap them in nb_numpy(), or take",
                 "reticulate from CRAN, or: pip install \"numpy<2\" \"pandas<3\""))
  invisible(seen)
}

# a result as a list of plain R values that prints as its summary
nb_result <- function(x) {
  structure(x$to_r(), text = x$summary(), class = "nb26stats_result")
}
print.nb26stats_result <- function(x, ...) {
  writeLines(attr(x, "text"))
  invisible(x)
}
summary.nb26stats_result <- function(object, ...) print(object)

if (.nb_old()) local({
  convert <- function(to) function(x, ...) tryCatch(to(x), error = function(e) x)
  reticulate_methods <- asNamespace("reticulate")
  if (.nb_major("numpy") >= 2L)
    registerS3method("py_to_r", "numpy.ndarray", convert(nb_array), reticulate_methods)
  if (.nb_major("pandas") >= 3L)
    registerS3method("py_to_r", "pandas.DataFrame", convert(nb_df), reticulate_methods)
})
