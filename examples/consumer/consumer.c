/* consumer_c MODEL.onnx OUT.onnx: what consumer.cpp does, in C99. */
#include <isomer/isomer_c.h>
#include <stdio.h>

static void show(void* user, const char* now) {
  int* lines = user;
  ++*lines;
  (void)now;
}

static int is_bad(isomer_status status) {
  if (status == ISOMER_OK) return 0;
  fprintf(stderr, "consumer_c: %s\n", isomer_last_error());
  return 1;
}

int main(int argc, char** argv) {
  isomer_model *model = NULL, *found = NULL, *written = NULL, *missing = NULL;
  char *certificate = NULL, *report = NULL;
  isomer_optimize_options options;
  isomer_verdict verdict = ISOMER_UNDECIDED;
  int accepted = 0, lines = 0, result = 1;
  if (argc < 3) return 2;
  printf("isomer %s\n", isomer_version());

  isomer_optimize_options_init(&options);
  options.judge = ISOMER_JUDGE_COST;
  options.seconds = 60;
  options.progress = show;
  options.user = &lines;
  if (is_bad(isomer_load(argv[1], NULL, 0, &model)) ||
      is_bad(isomer_optimize(model, &options, &found, &certificate, &report)) ||
      is_bad(isomer_save(found, argv[2])) || is_bad(isomer_load(argv[2], NULL, 0, &written)) ||
      is_bad(isomer_check(model, written, certificate, &accepted, NULL)) ||
      is_bad(isomer_prove_equal(model, written, NULL, &verdict, NULL, NULL, NULL)))
    goto done;
  printf("check: %s\nprove: %s\nprogress: %s\n", accepted ? "accepted" : "rejected",
         verdict == ISOMER_PROVED ? "equal" : "not proved", lines > 0 ? "told" : "not told");
  if (isomer_load("no such file", NULL, 0, &missing) != ISOMER_BAD_INPUT || missing != NULL) goto done;
  printf("as expected: %s\n", isomer_last_error());
  result = accepted && verdict == ISOMER_PROVED && lines > 0 ? 0 : 1;

done:
  isomer_string_free(certificate);
  isomer_string_free(report);
  isomer_model_free(model);
  isomer_model_free(found);
  isomer_model_free(written);
  return result;
}
