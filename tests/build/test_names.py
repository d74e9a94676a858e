"""Kernel names: what nvcc and clang make of internal linkage must meet."""

from grader.build.driver.nvcc import canonical, kernel_names, names_for

PTX = """
.visible .entry _ZN37_GLOBAL__N__2e07e3ae_5_st_cu__Z3runPf5otherEPf(
.entry _Z5thirdPf(
.visible .entry _Z5sevenIN37_GLOBAL__N__2e07e3ae_5_st_cu__Z3runPf2InEEvPT_(
.entry plain(
"""
OBJECT = (
    b"\0_ZN12_GLOBAL__N_120__device_stub__otherEPf\0_ZL20__device_stub__thirdPf\0"
    b"_Z20__device_stub__sevenIN12_GLOBAL__N_12InEEvPT_\0__device_stub__plain\0"
)


def test_stubs_name_their_kernels() -> None:
    assert kernel_names(OBJECT) == {
        "_ZN12_GLOBAL__N_15otherEPf",
        "_ZL5thirdPf",
        "_Z5sevenIN12_GLOBAL__N_12InEEvPT_",
        "plain",
    }


def test_every_registered_kernel_finds_its_code() -> None:
    names = names_for(kernel_names(OBJECT), PTX)
    assert names is not None
    assert names["_Z5thirdPf"] == "_ZL5thirdPf"
    assert (
        names["_ZN37_GLOBAL__N__2e07e3ae_5_st_cu__Z3runPf5otherEPf"] == "_ZN12_GLOBAL__N_15otherEPf"
    )
    assert names["plain"] == "plain"


def test_a_kernel_without_device_code_is_noticed() -> None:
    assert names_for({"_Z4goneIiEvPT_"}, PTX) is None
    assert names_for(None, PTX) is None


def test_different_kernels_stay_different() -> None:
    assert canonical("_Z1kIfEvPT_") != canonical("_Z1kIdEvPT_")
    assert canonical("_Z1kILi256EEvPf") != canonical("_Z1kILi128EEvPf")
