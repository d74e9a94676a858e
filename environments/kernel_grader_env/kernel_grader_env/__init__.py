"""The id under which verifiers finds the environment of `grader.trainers.verifiers`."""

from grader.trainers.verifiers import ChatHarness, KernelEnv, KernelTaskset

__all__ = ["ChatHarness", "KernelEnv", "KernelTaskset"]
