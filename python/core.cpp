// isomer._core: isomer.h for Python, name for name. What people call is python/isomer, which is made of this.
#include <isomer/isomer.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <vector>

#include "tensors.h"
#include "watch.h"

namespace isomer::python {
namespace {

using Path = std::filesystem::path;
using Told = std::optional<nb::callable>;  // receives progress; None: not reported

// isomer._errors has a class for each kind.
void raise(const std::exception_ptr& thrown, void* /*unused*/) {
  try {
    std::rethrow_exception(thrown);
  } catch (const api::Error& e) {
    const nb::object error =
        nb::module_::import_("isomer._errors")
            .attr("error_of")(static_cast<int>(e.kind()), e.what(), e.node(), e.attribute());
    PyErr_SetObject(error.type().ptr(), error.ptr());
  }
}

nb::bytes bytes_of(const std::string& text) { return nb::bytes(text.data(), text.size()); }
std::string text_of(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

// What commands share, as if it were the options' own.
template <class Options>
nb::class_<Options> share(nb::class_<Options> options) {
  const auto property = [&](const char* name, auto part, auto member) {
    options.def_prop_rw(
        name, [=](const Options& of) { return of.*part.*member; },
        [=](Options& of, std::remove_cvref_t<decltype(of.*part.*member)> value) {
          of.*part.*member = std::move(value);
        });
  };
  property("feeds_file", &Options::inputs, &api::Inputs::file);
  property("sizes", &Options::inputs, &api::Inputs::sizes);
  property("values", &Options::inputs, &api::Inputs::values);
  property("seed", &Options::inputs, &api::Inputs::seed);
  property("runtime", &Options::run, &api::Run::runtime);
  property("scratch", &Options::run, &api::Run::scratch);
  return options;
}

// Options that are structs here are objects with the same names there; functions and tensors are arguments.
void bind_options(nb::module_& m) {
  using R = api::RuntimeOptions;
  nb::class_<R>(m, "RuntimeOptions")
      .def(nb::init<>())
      .def_rw("name", &R::name)
      .def_rw("library", &R::library)
      .def_rw("worker", &R::worker)
      .def_rw("threads", &R::threads)
      .def_rw("optimization_level", &R::optimization_level)
      .def_rw("disabled_optimizers", &R::disabled_optimizers)
      .def_rw("custom_op_libraries", &R::custom_op_libraries)
      .def_rw("config", &R::config)
      .def_rw("memory_gib", &R::memory_gib)
      .def_rw("call_seconds", &R::call_seconds);

  nb::enum_<api::Judge>(m, "Judge")
      .value("runtime", api::Judge::Runtime)
      .value("cost", api::Judge::Cost)
      .value("nodes", api::Judge::Nodes);
  using O = api::OptimizeOptions;
  share(nb::class_<O>(m, "OptimizeOptions"))
      .def(nb::init<>())
      .def_rw("seconds", &O::seconds)
      .def_rw("judge", &O::judge)
      .def_rw("min_gain", &O::min_gain)
      .def_rw("max_error_growth", &O::max_error_growth)
      .def_rw("max_size_growth", &O::max_size_growth)
      .def_rw("simplify", &O::simplify)
      .def_rw("strategy", &O::strategy)
      .def_rw("without", &O::without)
      .def_rw("only", &O::only)
      .def_rw("rules", &O::rules)
      .def_rw("steps", &O::steps)
      .def_rw("cache", &O::cache)
      .def_rw("plans", &O::plans);

  nb::enum_<api::Engine>(m, "Engine")
      .value("reference", api::Engine::Reference)
      .value("double", api::Engine::ReferenceInDouble)
      .value("runtime", api::Engine::Runtime);
  using C = api::CompareOptions;
  share(nb::class_<C>(m, "CompareOptions"))
      .def(nb::init<>())
      .def_rw("engine", &C::engine)
      .def_rw("tolerance", &C::tolerance);

  using B = api::BenchOptions;
  nb::enum_<api::Clock>(m, "Clock")
      .value("auto", api::Clock::Auto)
      .value("wall", api::Clock::Wall)
      .value("cpu", api::Clock::Cpu);
  share(nb::class_<B>(m, "BenchOptions"))
      .def(nb::init<>())
      .def_rw("seconds", &B::seconds)
      .def_rw("clock", &B::clock)
      .def_rw("cache", &B::cache);

  using E = api::ExploreOptions;
  nb::enum_<api::Objective>(m, "Objective")
      .value("latency", api::Objective::Latency)
      .value("load_time", api::Objective::LoadTime)
      .value("memory", api::Objective::Memory)
      .value("size", api::Objective::Size)
      .value("energy", api::Objective::Energy);
  nb::enum_<api::ExploreMode>(m, "ExploreMode")
      .value("fast", api::ExploreMode::Fast)
      .value("mixed", api::ExploreMode::Mixed)
      .value("full", api::ExploreMode::Full);
  share(nb::class_<E>(m, "ExploreOptions"))
      .def(nb::init<>())
      .def_rw("objective", &E::objective)
      .def_rw("mode", &E::mode)
      .def_rw("seconds", &E::seconds)
      .def_rw("min_gain", &E::min_gain)
      .def_rw("clock", &E::clock)
      .def_rw("control", &E::control)
      .def_rw("records", &E::records)
      .def_rw("output", &E::output)
      .def_rw("this_machine", &E::this_machine)
      .def_rw("prove_seconds", &E::prove_seconds);

  using G = api::GateOptions;
  share(nb::class_<G>(m, "GateOptions"))
      .def(nb::init<>())
      .def_rw("min_ratio", &G::min_ratio)
      .def_rw("equal", &G::equal)
      .def_rw("seconds", &G::seconds)
      .def_rw("prove_seconds", &G::prove_seconds)
      .def_rw("clock", &G::clock)
      .def_rw("base_runtime", &G::base_runtime);

  using L = api::CompileOptions;
  share(nb::class_<L>(m, "CompileOptions"))
      .def(nb::init<>())
      .def_rw("name", &L::name)
      .def_rw("target", &L::target)
      .def_rw("compiler", &L::compiler)
      .def_rw("schedules", &L::schedules)
      .def_rw("as_operator", &L::as_operator)
      .def_rw("fixed_sizes", &L::fixed_sizes)
      .def_rw("threads", &L::threads)
      .def_rw("budget", &L::budget)
      .def_rw("tune_seconds", &L::tune_seconds)
      .def_rw("seconds", &L::seconds)
      .def_rw("sums", &L::sums)
      .def_rw("max_error_growth", &L::max_error_growth);

  using P = api::ReportOptions;
  share(nb::class_<P>(m, "ReportOptions"))
      .def(nb::init<>())
      .def_rw("optimized", &P::optimized)
      .def_rw("certificate_file", &P::certificate_file)
      .def_rw("measure", &P::measure);
}

using Feeds = std::optional<GivenTensors>;
template <class Options>
void set_feeds(Options& options, const Feeds& feeds) {
  if (feeds) options.inputs.feeds = to_tensors(*feeds);
}

void bind_models(nb::module_& m) {
  nb::class_<api::Model>(m, "Model");
  m.def(
      "load",
      [](const Path& path, const std::vector<std::string>& sizes) {
        Watch watch;
        return watch.run([&] { return api::load(path, {.sizes = sizes}); });
      },
      nb::arg("path"), nb::arg("sizes"));
  m.def(
      "load_pair",
      [](const Path& a, const Path& b, const std::vector<std::string>& sizes,
         const std::vector<std::string>& values, int sizes_from) {
        Watch watch;
        const api::LoadOptions options{.sizes = sizes, .values = values, .sizes_from = sizes_from};
        api::ModelPair pair = watch.run([&] { return api::load_pair(a, b, options); });
        return nb::make_tuple(pair.a, pair.b);
      },
      nb::arg("a"), nb::arg("b"), nb::arg("sizes"), nb::arg("values"), nb::arg("sizes_from") = 1);
  m.def("inspect", [](const api::Model& model, const std::vector<std::string>& sizes) {
    Watch watch;
    return watch.run([&] { return api::inspect(model, sizes).json; });
  });
  m.def("compile",
        [](const api::Model& model, const Path& folder, api::CompileOptions options, const Feeds& feeds) {
          Watch watch;
          set_feeds(options, feeds);
          options.run.stop = watch.token();
          const api::Compiled compiled = watch.run([&] { return api::compile(model, folder, options); });
          nb::list nests;
          for (const api::Compiled::Nest& nest : compiled.nests)
            nests.append(nb::make_tuple(nest.name, nest.text));
          return nb::make_tuple(compiled.json, nests);
        });
  m.def("run", [](const api::Model& model, const GivenTensors& feeds, api::Engine engine,
                  const api::RuntimeOptions& runtime) {
    Watch watch;
    const api::Tensors given = to_tensors(feeds);
    const api::RunOptions options{.engine = engine, .runtime = runtime, .stop = watch.token()};
    return from_tensors(watch.run([&] { return api::run(model, given, options); }));
  });
}

void bind_optimize(nb::module_& m) {
  m.def("proposers", &api::proposers);
  m.def("runtimes", &api::runtimes);
  m.def("default_cache", &api::default_cache);
  m.def("optimize_file", [](const Path& in, const Path& out, const Path& certificate, bool fix_sizes,
                            int sizes_from, bool kernels, const std::string& compiler,
                            api::OptimizeOptions options, const Feeds& feeds, const Told& progress) {
    Watch watch;
    set_feeds(options, feeds);
    options.run.progress = watch.teller(progress);
    options.run.stop = watch.token();
    const api::OptimizeFiles files{.in = in,
                                   .out = out,
                                   .sizes_from = sizes_from,
                                   .certificate = certificate,
                                   .fix_sizes = fix_sizes,
                                   .kernels = kernels,
                                   .compiler = compiler};
    const api::Optimized found =
        watch.run([&] { return api::optimize_file(files, options); }, OnInterrupt::GiveBest);
    return nb::make_tuple(found.json, bytes_of(found.certificate));
  });
}

void bind_equality(nb::module_& m) {
  m.def("prove", [](const api::Model& a, const api::Model& b, double seconds, const nb::bytes& certificate,
                    const Told& progress) {
    Watch watch;
    const api::ProveOptions options{.seconds = seconds,
                                    .certificate = text_of(certificate),
                                    .progress = watch.teller(progress),
                                    .stop = watch.token()};
    api::Proof proof = watch.run([&] { return api::prove_equal(a, b, options); }, OnInterrupt::GiveBest);
    return nb::make_tuple(proof.json, bytes_of(proof.certificate),
                          from_tensors(std::move(proof.counterexample)));
  });
  m.def("check", [](const api::Model& in, const api::Model& out, const nb::bytes& certificate) {
    Watch watch;
    const std::string text = text_of(certificate);
    return watch.run([&] { return api::check(in, out, text).json; });
  });
  m.def("explain", [](const nb::bytes& certificate) { return api::explain(text_of(certificate)).json; });
  m.def("compare", [](const api::Model& a, const api::Model& b, api::CompareOptions options,
                      const Feeds& feeds, const Told& progress) {
    Watch watch;
    set_feeds(options, feeds);
    options.run.progress = watch.teller(progress);
    options.run.stop = watch.token();
    return watch.run([&] { return api::compare(a, b, options).json; });
  });
  m.def("bench", [](const std::vector<api::Model>& models, api::BenchOptions options, const Feeds& feeds,
                    const Told& progress) {
    Watch watch;
    set_feeds(options, feeds);
    options.run.progress = watch.teller(progress);
    options.run.stop = watch.token();
    return watch.run([&] { return api::bench(models, options).json; });
  });
  m.def("explore",
        [](const api::Model& model, api::ExploreOptions options, const Feeds& feeds, const Told& progress) {
          Watch watch;
          set_feeds(options, feeds);
          options.run.progress = watch.teller(progress);
          options.run.stop = watch.token();
          const api::ExploreReport report = watch.run([&] { return api::explore(model, options); });
          return nb::make_tuple(report.json, report.configuration, report.html);
        });
  m.def("gate", [](const api::Model& base, const api::Model& candidate, api::GateOptions options,
                   const nb::bytes& certificate, const Feeds& feeds, const Told& progress) {
    Watch watch;
    set_feeds(options, feeds);
    options.certificate = text_of(certificate);
    options.run.progress = watch.teller(progress);
    options.run.stop = watch.token();
    const api::GateReport report = watch.run([&] { return api::gate(base, candidate, options); });
    return nb::make_tuple(report.json, report.markdown);
  });
  m.def("report", [](const api::Model& in, const api::Model& out, const nb::bytes& certificate,
                     api::ReportOptions options, const Feeds& feeds, const Told& progress) {
    Watch watch;
    set_feeds(options, feeds);
    options.run.progress = watch.teller(progress);
    options.run.stop = watch.token();
    const std::string text = text_of(certificate);
    const api::Report report = watch.run([&] { return api::report(in, out, text, options); });
    return nb::make_tuple(report.json, report.html, report.is_measured, report.why);
  });
}

void bind_rules(nb::module_& m) {
  m.def("prove_rules", [](const Path& file) {
    Watch watch;
    return watch.run([&] { return api::prove_rules(file).json; });
  });
  m.def("generate_rules",
        [](const Path& file, int operators, int threads, int shard, int shards, const Told& progress) {
          Watch watch;
          const api::GenerateRulesOptions options{.operators = operators,
                                                  .threads = threads,
                                                  .shard = shard,
                                                  .shards = shards,
                                                  .progress = watch.teller(progress),
                                                  .stop = watch.token()};
          return watch.run([&] { return api::generate_rules(file, options).json; }, OnInterrupt::GiveBest);
        });
  m.def("merge_rules", [](const std::vector<Path>& shards, const Path& file, int threads,
                          const Told& progress) {
    Watch watch;
    const api::MergeRulesOptions options{
        .threads = threads, .progress = watch.teller(progress), .stop = watch.token()};
    return watch.run([&] { return api::merge_rules(shards, file, options).json; }, OnInterrupt::GiveBest);
  });
  m.def("list_rules", [](const Path& file) { return api::list_rules(file); });
  m.def("derive_rules", [](const Path& file, const Path& pack, int steps) {
    Watch watch;
    return watch.run([&] { return api::derive_rules(file, pack, steps); });
  });
}

}  // namespace
}  // namespace isomer::python

NB_MODULE(_core, m) {
  using namespace isomer::python;
  nb::register_exception_translator(raise);
  m.attr("version") = std::string(isomer::api::version());
  bind_options(m);
  bind_models(m);
  bind_optimize(m);
  bind_equality(m);
  bind_rules(m);
}
