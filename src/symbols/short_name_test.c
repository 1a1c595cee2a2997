#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "symbols/demangle.h"

struct row {
    const char *from;
    const char *short_name;
};

/* clang-format off: names are cut where the page ends */
/* Linker names, most of them of a rustc and its LLVM. */
static const struct row raw_rows[] = {
    {"_RINvMNtCsgEmfK2I1SDS_4core5sliceSh11copy_withinINtNtNtB5_3ops5range14RangeInclusivejEECsfE"
     "OYDRpO4Ta_11miniz_oxide",
     "<[u8]>::copy_within"},
    {"_RNvMNtCslNYArtu3iFV_5alloc5sliceSh6repeatCs7BI5CoEw5O8_13fluent_bundle", "<[u8]>::repeat"},
    {"_RNSNvYNCNvMNtCs1PbGgLnHewJ_9jobserver3impNtB9_6Client9configure0INtNtNtCsgEmfK2I1SDS_4core"
     "3ops8function6FnOnceuE9call_once6vtableBb_",
     "<jobserver::imp::Client::configure::{closure#0} as core::ops::function::FnOnce>::call_once:"
     ":{shim:vtable#0}"},
    {"_RNvXNvMNtCs2KnjXdzD1j5_15crossbeam_epoch5guardNtB5_5Guard11repin_afterNtB2_10ScopeGuardNtN"
     "tNtCsgEmfK2I1SDS_4core3ops4drop4Drop4drop",
     "<crossbeam_epoch::guard::Guard::repin_after::ScopeGuard as core::ops::drop::Drop>::drop"},
    {"_RNSINvNtCsjrHSEGnQ3l9_3std9panicking11begin_panicReE5reifyB6_",
     "std::panicking::begin_panic::{shim:reify#0}"},
    {"_RNSNvMs8_NtCsgEmfK2I1SDS_4core3numo15overflowing_rem5reify.cold",
     "u128::overflowing_rem::{shim:reify#0}"},
    {"_RINvCs2N2TEQjwqGk_7stacker4growuNCNvNtNtNtCsaspd4q2l9mR_21rustc_trait_selection6traits5que"
     "ry15dropck_outlives30dtorck_constraint_for_ty_inners0_0EBE_",
     "stacker::grow"},
    {"_RNvXNtCsgEmfK2I1SDS_4core3fmtQNtB2_9FormatterNtB2_5Write9write_strCsgY6Mt91CT9J_14rustc_de"
     "mangle",
     "<&mut core::fmt::Formatter as core::fmt::Write>::write_str"},
    {"_RNvXs1_NvMs_NtNtCslNYArtu3iFV_5alloc3ffi5c_strNtBa_7CString3newQShNtB5_11SpecNewImpl13spec"
     "_new_impl",
     "<&mut [u8] as alloc::ffi::c_str::CString::new::SpecNewImpl>::spec_new_impl"},
    {"_RINvMs2_NtCskpSTIW4eawz_9measureme11stringtableNtB6_18StringTableBuilder5allocANtB6_15Stri"
     "ngComponentj5_ECsfhTr2ijyTAe_16rustc_query_impl",
     "measureme::stringtable::StringTableBuilder::alloc"},
    {"_RINvMNtCscVRU3O3AmtS_12nu_ansi_term4ansiNtNtB5_5style5Style12write_prefixDNtNtCsgEmfK2I1SD"
     "S_4core3fmt5WriteEL_EB5_",
     "nu_ansi_term::style::Style::write_prefix"},
    {"_RNvXNtCsgEmfK2I1SDS_4core3anyuNtB2_3Any7type_idCsjrHSEGnQ3l9_3std",
     "<() as core::any::Any>::type_id"},
    {"_RNvXs1G_NtCsgEmfK2I1SDS_4core3fmtTNtCsjyvvofjlheH_10rustc_span8FileNameNtBy_7BytePosENtB6_"
     "5Debug3fmtCs5wPqZkVjkEZ_18rustc_monomorphize",
     "<(rustc_span::FileName, rustc_span::BytePos) as core::fmt::Debug>::fmt"},
    {"_RNvMs3_NtCslNYArtu3iFV_5alloc7raw_vecINtB5_6RawVecPhE8grow_oneCs59TyybOfEHA_18rustc_codege"
     "n_llvm",
     "alloc::raw_vec::RawVec::grow_one"},
    {"_RINvXs_NvMNtCslNYArtu3iFV_5alloc5sliceSp9to_vec_inhNtB5_10ConvertVec6to_vecNtNtBa_5alloc6G"
     "lobalECsjrHSEGnQ3l9_3std",
     "<u8 as <[_]>::to_vec_in::ConvertVec>::to_vec"},
    {"LLVMRustComputeLTOCacheKey.warm", "LLVMRustComputeLTOCacheKey"},
    {"_RINvCs3Wn5k6Pa3dh_8thin_vec10alloc_sizeNtNtCs61nHkvlE5qF_9rustc_ast3ast11PathSegmentECsair"
     "CCGeQF1y_12rustc_expand.llvm.13220050566636175324",
     "thin_vec::alloc_size"},
    {"_RINvCs3Wn5k6Pa3dh_8thin_vec10alloc_sizeNtNtCs61nHkvlE5qF_9rustc_ast3ast13MetaItemInnerEBF_"
     ".llvm.13854487428119197880",
     "thin_vec::alloc_size"},
    {"_RINvCs3Wn5k6Pa3dh_8thin_vec10alloc_sizeNtNtCs61nHkvlE5qF_9rustc_ast3ast17AngleBracketedArg"
     "ECsairCCGeQF1y_12rustc_expand.llvm.13220050566636175324",
     "thin_vec::alloc_size"},
    {"_ZN12_GLOBAL__N_110PolynomialaSEOS0_", "(anonymous namespace)::Polynomial::operator="},
    {"_ZN4llvm3lspeqERKNS0_9InlayHintES3_", "llvm::lsp::operator=="},
    {"_ZN4llvm26SystemZPostRASchedStrategy9CandidateltERKS1_",
     "llvm::SystemZPostRASchedStrategy::Candidate::operator<"},
    {"_ZN12_GLOBAL__N_13ErrlsEN4llvm5ErrorE", "(anonymous namespace)::Err::operator<<"},
    {"_ZN12_GLOBAL__N_113ArgumentGraphixEPN4llvm8ArgumentE",
     "(anonymous namespace)::ArgumentGraph::operator[]"},
    {"_ZN12_GLOBAL__N_111ProfileNodeclIN4llvm16itanium_demangle10BitIntTypeEEEvPKT_",
     "(anonymous namespace)::ProfileNode::operator()"},
    {"_ZN4llvm12dwarf_linker8parallel11CompileUnit20OutputUnitVariantPtrptEv",
     "llvm::dwarf_linker::parallel::CompileUnit::OutputUnitVariantPtr::operator->"},
    {"_ZN4llvm23DbgSSABlockPredIteratordeEv", "llvm::DbgSSABlockPredIterator::operator*"},
    {"_ZN4llvm4UsernwEmNS0_26HungOffOperandsAllocMarkerE", "llvm::User::operator new"},
    {"_ZN4llvm4UserdlEPv", "llvm::User::operator delete"},
    {"_ZNK9PredicatentEv", "Predicate::operator!"},
    {"_ZN4llvm11IntervalMapINS_3orc12ExecutorAddrEbLj11ENS_15IntervalMapInfoIS2_EEE14const_iterat"
     "orppEv",
     "llvm::IntervalMap::const_iterator::operator++"},
    {"_ZN4llvm9KnownBitsrSEj", "llvm::KnownBits::operator>>="},
    {"_ZN4llvm15FunctionSummary6FFlagscvNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEEv",
     "llvm::FunctionSummary::FFlags::operator std::__cxx11::basic_string"},
    {"_ZN4llvm4UserdlEPvNS0_26HungOffOperandsAllocMarkerE", "llvm::User::operator delete"},
    {"_ZN4llvm11stable_sortIRNS_11SmallVectorISt4pairIPKNS_4LoopENS_15InstructionCostEELj3EEEZNS_"
     "9CacheCost13sortLoopCostsEvEUlRKS7_SC_E_EEvOT_T0_",
     "llvm::stable_sort"},
    {"_ZN4llvm12function_refIFbNS_16AbstractCallSiteEEE11callback_fnIZN12_GLOBAL__N_116AAIsDeadRe"
     "turned10updateImplERNS_10AttributorEEUlS1_E_EEblS1_",
     "llvm::function_ref::callback_fn"},
    {"_ZN4llvm12function_refIFbNS_16AbstractCallSiteEEE11callback_fnIZN12_GLOBAL__N_123AAValueSim"
     "plifyArgument10updateImplERNS_10AttributorEEUlS1_E_EEblS1_",
     "llvm::function_ref::callback_fn"},
    {"_Z12get_i32_MaskRKN12_GLOBAL__N_120HexagonVectorCombineERN4llvm13IRBuilderBaseERNS3_11LLVMC"
     "ontextEj",
     "get_i32_Mask"},
    {"_ZL10isLegalUseRKN4llvm19TargetTransformInfoEN12_GLOBAL__N_19ImmediateES4_NS3_6LSRUse8KindT"
     "ypeENS3_11MemAccessTyERKNS3_7FormulaE",
     "isLegalUse"},
    {"_ZThn104_N4llvm7VPIRPhiD0Ev", "llvm::VPIRPhi::~VPIRPhi"},
    {"_ZThn152_N4llvm16VPWidenPHIRecipeD0Ev", "llvm::VPWidenPHIRecipe::~VPWidenPHIRecipe"},
    {"_ZGTtNKSt13bad_exceptionD1Ev", "std::bad_exception::~bad_exception"},
    {"_Z12postUnswitchRN4llvm4LoopERNS_10LPMUpdaterENS_9StringRefEbbbNS_8ArrayRefIPS0_EE.cold",
     "postUnswitch"},
    {"_Z22SCEVMinMaxExprContainsPKN4llvm4SCEVES2_NS_9SCEVTypesE.cold", "SCEVMinMaxExprContains"},
    {"_ZL13readULEB128AsIjTnNSt9enable_ifIXsr3stdE13is_unsigned_vIT_EEiE4typeELi0EES1_RN4llvm"
     "13DataExtractorERNS5_6CursorERNS4_5ErrorE", /* newer than the demangler */
     "readULEB128As"},
    {"_Z22forEachJumpTableBranchPKN4llvm15MachineFunctionEbRKSt8functionIFvRKNS_20MachineJumpTabl"
     "eInfoERKNS_12MachineInstrElEE",
     "forEachJumpTableBranch"},
    {"_ZL21selectVSplatImmHelperN4llvm7SDValueERS0_RNS_12SelectionDAGERKNS_14RISCVSubtargetESt8fu"
     "nctionIFblEEb",
     "selectVSplatImmHelper"},
    {"_ZN12_GLOBAL__N_114ConstantFoldFPEPFddERKN4llvm7APFloatEPNS2_4TypeENS2_12DenormalModeE.llvm"
     ".14713273195736810042",
     "(anonymous namespace)::ConstantFoldFP"},
    {"_Z21getLLVMSymbolizerPathB5cxx11N4llvm9StringRefE", "getLLVMSymbolizerPath"},
    {"_ZL13getStatStringB5cxx11PKciiS0_b", "getStatString"},
    {"_ZN4llvm11PassBuilder19parsePassParametersIRFNS_8ExpectedIN12_GLOBAL__N_113FatLTOOptionsEEE"
     "NS_9StringRefEEEEDTclfp_tlS6_EEEOT_S6_S6_",
     "llvm::PassBuilder::parsePassParameters"},
    {"_ZN4llvm11PassBuilder19parsePassParametersIRFNS_8ExpectedINS_13StackLifetime12LivenessTypeE"
     "EENS_9StringRefEEEEDTclfp_tlS6_EEEOT_S6_S6_",
     "llvm::PassBuilder::parsePassParameters"},
    {"ZSTD_cwksp_sizeof", "ZSTD_cwksp_sizeof"},
    {"_ZL11parseDoubleRN4llvm2cl6OptionENS_9StringRefERd.llvm.17194435095014268114", "parseDouble"},
    {"_ZL11simplifyRemN4llvm11Instruction9BinaryOpsEPNS_5ValueES3_RKNS_13SimplifyQueryEj.llvm.166"
     "71654276026231535",
     "simplifyRem"},
    {"_ZL12mergeFnAttrsRN4llvm8FunctionERKS0_.llvm.15739688573627030392.warm", "mergeFnAttrs"},
    {"_ZL13AddNodeIDNodeRN4llvm16FoldingSetNodeIDEjNS_8SDVTListENS_8ArrayRefINS_7SDValueEEE.llvm."
     "11044578730793224677",
     "AddNodeIDNode"},
    {"_ZL13computeShlNSWRKN4llvm13ConstantRangeES2_.llvm.7793469521320472370.warm",
     "computeShlNSW"},
    {"_ZL13isNullOrUndefPKN4llvm8ConstantE.llvm.9151646594684018137.cold", "isNullOrUndef"},
    {"_ZL13simplifyBinOpjPN4llvm5ValueES1_RKNS_13SimplifyQueryEj.llvm.16671654276026231535",
     "simplifyBinOp"},
    {"_ZL13simplifyShiftN4llvm11Instruction9BinaryOpsEPNS_5ValueES3_bRKNS_13SimplifyQueryEj.llvm."
     "16671654276026231535.cold",
     "simplifyShift"},
    {"LLVMAddCase.cold", "LLVMAddCase"},
    {"LLVMAddClause.cold", "LLVMAddClause"},
    {"LLVMAddIncoming.cold", "LLVMAddIncoming"},
    {"_ZN4core3ptr13drop_in_place17h0123456789abcdefE", "core::ptr::drop_in_place"},
    {"_ZN4core3ptr13drop_in_place17h0123456789abcdefE.llvm.1234", "core::ptr::drop_in_place"},
    {"_ZN4core3ptr13drop_in_place17h0123456789abcdefE.cold", "core::ptr::drop_in_place"},
    {"_ZN4core3ptr13drop_in_place17h0123456789abcdefE.llvm.1234.cold.1",
     "core::ptr::drop_in_place"},
    {"_ZN70_$LT$alloc..vec..Vec$LT$T$C$A$GT$$u20$as$u20$core..ops..drop..Drop$GT$4drop17h01234567"
     "89abcdefE",
     "<alloc::vec::Vec as core::ops::drop::Drop>::drop"},
    {"_ZN5alloc5slice29_$LT$impl$u20$$u5b$T$u5d$$GT$4sort17h0123456789abcdefE",
     "alloc::slice::<impl [T]>::sort"},
    {"_ZN4main1f28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE", "main::f::{{closure}}"},
    {"_ZN4core3ops8function6FnOnce40call_once$u7b$$u7b$vtable.shim$u7d$$u7d$17h0123456789abcdefE",
     "core::ops::function::FnOnce::call_once{{vtable.shim}}"},
    {"_ZN60_$LT$$RF$mut$u20$F$u20$as$u20$core..ops..FnOnce$LT$A$GT$$GT$9call_once17h0123456789abc"
     "defE",
     "<&mut F as core::ops::FnOnce>::call_once"},
    {"_RNvC6_123foo3bar", "123foo::bar"},
    {"_ZZ1fvENKUlvE_clEv", "f::{lambda#1}::operator()"},
    {"_ZZ4mainENKUlT_E_clIiEEDaS_", "main::{lambda#1}::operator()"},
    {"_ZN1AcvT_IiEEv", "A::operator int"},
    {"_ZlsIcEvT_", "operator<<"},
    {"_ZltIcEvT_", "operator<"},
    {"_ZNSt8functionIFviEE4callEv", "std::function::call"},
    {"_ZN1A1BC1Ev", "A::B::B"},
    {"_ZN3fooC1Ev.part.0.cold", "foo::foo"},
    {"_ZN4llvm5PassXIiTnPvLPv0EE3runEv", "llvm::PassX"},
    {"malloc", "malloc"},
    {"main", "main"},
    {"memcpy@@GLIBC_2.14", "memcpy"},
    {"memcpy@GLIBC_2.2.5", "memcpy"},
    {"malloc@plt", "malloc@plt"},
    {"_ZN1A1fEi@plt", "A::f@plt"},
    {"foo.constprop.0.isra.0", "foo"},
    {"foo.cold", "foo"},
    {"foo.llvm.123", "foo"},
    {"runtime.mallocgc", "runtime.mallocgc"},
    {"camlStdlib__List.map_123", "camlStdlib__List.map_123"},
    {"x.123", "x.123"},
    {".cold", ".cold"},
    {"_GLOBAL__sub_I_Foo.cpp", "_GLOBAL__sub_I_Foo.cpp"},
    {"_", "_"},
    {"_Z", "_Z"},
    {"_R", "_R"},
    {"_RNvB_1a", "_RNvB_1a"},
    {"@", "@"},
    {"@plt", "@plt"},
};

/* Names that are already demangled. */
static const struct row cpp_rows[] = {
    {"f()", "f"},
    {"f(int) const", "f"},
    {"void f<int>(int)", "f"},
    {"unsigned long ns::f<A<(B)1>, 2>(int)", "ns::f"},
    {"void (*f<int>(int))(char)", "f"},
    {"int (&g())[3]", "g"},
    {"decltype ((a)(b)) g<int>(int)", "g"},
    {"decltype(a.b()) ns::g(int)", "ns::g"},
    {"auto f<int>(int)::{lambda(auto:1)#1}::operator()<char>(char) const",
     "f::{lambda#1}::operator()"},
    {"main::{lambda(std::vector<int, std::allocator<int> >)#2}::operator()(std::vector<int>) const",
     "main::{lambda#2}::operator()"},
    {"f(int)::Local::bar(char)", "f::Local::bar"},
    {"A::f() const::{unnamed type#1}::g()", "A::f::{unnamed type#1}::g"},
    {"(anonymous namespace)::A::operator()(int) const", "(anonymous namespace)::A::operator()"},
    {"bool operator< <int>(A<int> const&, A<int> const&)", "operator<"},
    {"std::ostream& operator<< <char>(std::ostream&, char)", "operator<<"},
    {"A::operator->() const", "A::operator->"},
    {"A::operator->*(int)", "A::operator->*"},
    {"A::operator<=>(A const&) const", "A::operator<=>"},
    {"A::operator,(int)", "A::operator,"},
    {"A::operator bool() const", "A::operator bool"},
    {"A::operator std::vector<int>() const", "A::operator std::vector"},
    {"A::operator (anonymous namespace)::B()", "A::operator (anonymous namespace)::B"},
    {"operator new(unsigned long)", "operator new"},
    {"operator new[](unsigned long)", "operator new[]"},
    {"operator delete[](void*, std::align_val_t)", "operator delete[]"},
    {"operator\"\" _x(char const*)", "operator\"\" _x"},
    {"operators(int)", "operators"},
    {"my_operator(int)", "my_operator"},
    {"non-virtual thunk to A::f()", "A::f"},
    {"virtual thunk to ns::A::f(int)", "ns::A::f"},
    {"guard variable for f()::x", "f::x"},
    {"std::enable_if<(sizeof (int))<(8), int>::type f<int>(int)", "f"},
    {"std::enable_if<((a)>(b)), int>::type f<int>(int)", "f"},
    {"A<&(B::operator<(int))>::f(int)", "A::f"},
    {"A<&B::operator> >::f(int)", "A::f"},
    {"f[abi:cxx11](int)", "f"},
    {"A[abi:cxx11]::f(int) const &", "A::f"},
    {"f(int) [clone .part.0] [clone .cold]", "f"},
    {"f(int) &&", "f"},
    {"f()::$_0::operator()() const", "f::$_0::operator()"},
    {"foo()::'lambda'(int)::operator()(int) const", "foo::'lambda'::operator()"},
    {"f", "f"},
    {"", ""},
    {" ", " "},
    {"<", "<"},
    {">", ">"},
    {"(", "("},
    {"f(", "f"},
    {"f<", "f"},
    {"f<(", "f"},
    {"a b", "b"},
    {"operator", "operator"},
    {"operator ", "operator"},
};

static const struct row rust_rows[] = {
    {"a::b", "a::b"},
    {"a::b::<u32>", "a::b"},
    {"a::B<u32>::c", "a::B::c"},
    {"<a::B>::c", "a::B::c"},
    {"<a::B<T>>::c::<U>", "a::B::c"},
    {"<a::B as c::D>::e", "<a::B as c::D>::e"},
    {"<a::B<T> as c::D<U>>::e::<V>", "<a::B as c::D>::e"},
    {"<<a::B as c::D>::E as f::G>::h", "<<a::B as c::D>::E as f::G>::h"},
    {"<[T]>::f", "<[T]>::f"},
    {"<&a::B<C> as D>::f", "<&a::B as D>::f"},
    {"<(a::B<C>, D) as E>::f", "<(a::B, D) as E>::f"},
    {"<fn(A<B>) -> C<D> as E<F>>::f", "<fn(A) -> C as E>::f"},
    {"<unsafe extern \"C\" fn(*const i8) as E>::f", "<unsafe extern \"C\" fn(*const i8) as E>::f"},
    {"<dyn a::B<C> as D>::f", "<dyn a::B as D>::f"},
    {"f::<'>', '<', '\\''>", "f"},
    {"<&mut dyn for<'a> a::B<'a> as c::D>::f", "<&mut dyn a::B as c::D>::f"},
    {"<for<'a, 'b> fn(&'a A<u8>) as c::D>::f", "<fn(&'a A) as c::D>::f"},
    {"wait_for::<'a>", "wait_for"},
    {"a::f::<{closure#0}>::{closure#1}", "a::f::{closure#1}"},
    {"a::{impl#3}::f", "a::{impl#3}::f"},
    {"a::<impl b::C<T> for d::E<U>>::f", "a::<impl b::C for d::E>::f"},
    {"a::f::{{closure}}", "a::f::{{closure}}"},
    {"a::f::h0123456789abcdef", "a::f"},
    {"a[0123456789abcdef]::f", "a::f"},
    {"<a[0123456789abcdef]::B as c[0123456789abcdef]::D>::f", "<a::B as c::D>::f"},
    {"a::f [clone .cold]", "a::f"},
    {"<", "<"},
    {"<a", "<a"},
    {"a>", "a>"},
    {"a<", "a"},
    {"::<a>", "::<a>"},
    {"", ""},
};
/* clang-format on */

static void check(enum symbol_language language, const char *from, const char *wanted)
{
    struct strbuf got = {0};
    symbol_short_name(language, from, strlen(from), &got);
    if (strcmp(strbuf_text(&got), wanted) != 0)
        fail_msg("%s: got %s, wanted %s", from, strbuf_text(&got), wanted);
    strbuf_free(&got);
}

static void demangled_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cpp_rows / sizeof *cpp_rows; i++)
        check(SYMBOL_LANGUAGE_CPP, cpp_rows[i].from, cpp_rows[i].short_name);
    for (size_t i = 0; i < sizeof rust_rows / sizeof *rust_rows; i++)
        check(SYMBOL_LANGUAGE_RUST, rust_rows[i].from, rust_rows[i].short_name);
}

static int check_raw(void *ctx, size_t item, unsigned worker)
{
    (void)worker;
    unsigned *wrong = ctx;
    const struct row *row = &raw_rows[item];
    struct strbuf full = {0}, got = {0};
    enum symbol_language language = demangle_name(row->from, strlen(row->from), &full);
    symbol_short_name(language, strbuf_text(&full), full.length, &got);
    if (strcmp(strbuf_text(&got), row->short_name) != 0) {
        print_error("%s: got %s, wanted %s\n", row->from, strbuf_text(&got), row->short_name);
        ++*wrong;
    }
    strbuf_free(&full);
    strbuf_free(&got);
    return LAM_OK;
}

static void linker_names(void **state)
{
    (void)state;
    unsigned wrong = 0;
    assert_int_equal(demangle_threads(1, sizeof raw_rows / sizeof *raw_rows, check_raw, &wrong),
                     LAM_OK);
    assert_int_equal(wrong, 0);
}

/* A short name of a short name is itself: markers may be written with either. */
static void short_names_are_stable(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rust_rows / sizeof *rust_rows; i++)
        check(SYMBOL_LANGUAGE_RUST, rust_rows[i].short_name, rust_rows[i].short_name);
    for (size_t i = 0; i < sizeof cpp_rows / sizeof *cpp_rows; i++)
        if (!strchr("(<> ", cpp_rows[i].from[0]))
            check(SYMBOL_LANGUAGE_CPP, cpp_rows[i].short_name, cpp_rows[i].short_name);
}

static void languages_by_looks(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum symbol_language language;
    } rows[] = {
        {"main", SYMBOL_LANGUAGE_PLAIN},
        {"a::b", SYMBOL_LANGUAGE_CPP}, /* either: both walkers give the same */
        {"f(int)", SYMBOL_LANGUAGE_CPP},
        {"std::vector<int>::push_back(int&&)", SYMBOL_LANGUAGE_CPP},
        {"<a as b>::c", SYMBOL_LANGUAGE_RUST},
        {"a::f::{{closure}}", SYMBOL_LANGUAGE_RUST},
        {"a::f::{closure#0}", SYMBOL_LANGUAGE_RUST},
        {"a::f::<u8>", SYMBOL_LANGUAGE_RUST},
        {"a::f::h0123456789abcdef", SYMBOL_LANGUAGE_RUST},
        {"", SYMBOL_LANGUAGE_PLAIN},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(symbol_language_guess(rows[i].name, strlen(rows[i].name)), rows[i].language);
}

/* Brackets without end in every mixture: linear, and never nothing. */
static void damaged_names(void **state)
{
    (void)state;
    static const char *const pieces[] = {"<",        "(",   "[",      "{",  "'\\", "\"",
                                         "operator", "::<", "<impl ", "a ", "->",  ">"};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        struct strbuf name = {0};
        strbuf_add(&name, "f");
        while (name.length < DEMANGLE_MAX_OUTPUT)
            strbuf_add(&name, pieces[i]);
        for (int language = SYMBOL_LANGUAGE_PLAIN; language <= SYMBOL_LANGUAGE_RUST; language++) {
            struct strbuf got = {0};
            symbol_short_name((enum symbol_language)language, name.data, name.length, &got);
            assert_true(got.length > 0 && got.length <= name.length);
            strbuf_free(&got);
        }
        strbuf_free(&name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(demangled_names),        cmocka_unit_test(linker_names),
        cmocka_unit_test(short_names_are_stable), cmocka_unit_test(languages_by_looks),
        cmocka_unit_test(damaged_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
