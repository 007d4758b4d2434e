import { notFound } from '../refusal.ts';
import { renderAction } from '../render.ts';
import { ok, page } from '../reply.ts';
import { param, type Route } from '../router.ts';

export const actionRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/v2/actions',
    handle: (request) => {
      const actions = request.actionsHidden ? [] : [...request.cloud.actions.values()].reverse();
      return page(
        request.url,
        'actions',
        actions.map((action) => renderAction(action)),
      );
    },
  },
  {
    method: 'GET',
    path: '/v2/actions/:id',
    handle: (request) => {
      const action = request.cloud.actions.get(Number(param(request, 'id')));
      if (request.actionsHidden || action === undefined) throw notFound();
      return ok({ action: renderAction(action) });
    },
  },
];
