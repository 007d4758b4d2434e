// Runs a command beside a cluster with a real node: `beside-node.ts [--image FILE]... -- COMMAND...`, in the namespaces that tools/kubernetes/with-node makes,
// which gives NODE_RUN (a folder) and NODE_CGROUP besides KUBEBUILDER_ASSETS.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { delimiter } from 'node:path';
import { parseArgs } from 'node:util';
import { startCluster } from './kube.ts';
import { NETWORK } from './kube-network.ts';
import { openNetwork, startNode } from './kube-node.ts';

const { KUBEBUILDER_ASSETS: assets, NODE_RUN: folder, NODE_CGROUP: cgroup } = process.env;
const { values, positionals } = parseArgs({ options: { image: { type: 'string', multiple: true, default: [] } }, allowPositionals: true });
const [command, ...args] = positionals;
if (!assets || !folder || !cgroup || !command) throw new Error('this is started by tools/kubernetes/with-node');

openNetwork();
const cluster = await startCluster({ controllers: ['*'], runsPods: true });
await startNode({ cluster, assets, folder, images: values.image, cgroup });
const env = { ...process.env, KUBECONFIG: cluster.kubeconfig, NODE_IP: NETWORK.node, PATH: `${assets}${delimiter}${process.env.PATH}` };
const child = spawn(command, args, { env, stdio: 'inherit' });
const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
// Whatever still runs here ends with the namespace.
process.exit(signal === null ? (code ?? 1) : 128 + constants.signals[signal]);
