"""All tasks of trained models, by name."""
from trained import measure_tasks, page_tasks, picture_tasks, sound_tasks, word_tasks

TASKS = {**page_tasks.TASKS, **picture_tasks.TASKS, **word_tasks.TASKS, **sound_tasks.TASKS, **measure_tasks.TASKS}
