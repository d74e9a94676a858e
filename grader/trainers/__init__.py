"""The environments of other libraries: tasks asked, answers graded, feedback between turns; an extra each."""
