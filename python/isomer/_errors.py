"""What is raised: a class for each kind of error that the library has."""


class Error(Exception):
    """Whatever Isomer can't answer. `node` and `attribute` say of which part of the model, where it is of one; else they are empty."""

    def __init__(self, message: str, node: str = "", attribute: str = "") -> None:
        super().__init__(message)
        self.node = node
        self.attribute = attribute


class BadInput(Error, ValueError):
    """A file, an option or an argument is at fault."""


class NotModelled(Error):
    """The model has a node that has no meaning here, or no certain one, so that it can't be run."""


class RuntimeFailed(Error):
    """The runtime is not there, refuses the model, or died of it."""


class OutOfMemory(Error, MemoryError):
    """There is not enough memory."""


class InternalError(Error):
    """A bug of Isomer's."""


# By the numbers of isomer::api::ErrorKind. Stopped (6) is never seen: KeyboardInterrupt, or what stopped it, is raised instead.
_KINDS: dict[int, type[Error]] = {1: BadInput, 2: NotModelled, 3: RuntimeFailed, 4: OutOfMemory, 5: InternalError}


def error_of(kind: int, message: str, node: str, attribute: str) -> Error:
    """The exception for an error of the library; `_core` calls this."""
    return _KINDS.get(kind, Error)(message, node, attribute)
