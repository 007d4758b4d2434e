import { announce } from './announce.ts';
import { assign } from './assign.ts';
import { done, type JobBodies, read, write } from './body.ts';
import { create, intendCreate, reconcileCreate } from './create.ts';
import { elect } from './elect.ts';
import { find } from './find.ts';
import { findNodes } from './find-nodes.ts';
import { findFirewall, openFirewall, prune } from './firewall.ts';
import { publish } from './publish.ts';
import { ensureRecords } from './records.ts';

/** Every durable job that a chart can name. */
export const jobBodies: JobBodies = {
  find,
  elect,
  findNodes,
  assign,
  intendCreate,
  create,
  reconcileCreate,
  findFirewall,
  openFirewall,
  prune,
  ensureRecords,
  publish,
  announce,
  release: async (context) => {
    if (context.input.policy === 'Retain') return done({ deleted: false });
    await context.provider.deleteRoutedIP(context.input.address, write(context, 'failover'));
    return done({ deleted: true });
  },
  verifyAll: async (context) => done({ addresses: await context.provider.listRoutedIPs(read(context, 'verify')) }),
};
