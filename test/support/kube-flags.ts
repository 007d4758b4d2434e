import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { NETWORK } from './kube-network.ts';
import type { Pki } from './kube-pki.ts';

export interface Ports {
  readonly api: number;
  readonly etcd: number;
  readonly peer: number;
  readonly controllers: number;
}

const AUDIT_POLICY = 'apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: Metadata}]\n';

/** Where the API server writes its audit log, one JSON object a line. */
export const auditFile = (folder: string): string => join(folder, 'audit.log');

export const etcdFlags = (folder: string, ports: Ports, version: string): readonly string[] => {
  const clients = `http://127.0.0.1:${ports.etcd}`;
  const peers = `http://127.0.0.1:${ports.peer}`;
  return [
    '--name=test',
    `--data-dir=${join(folder, 'etcd')}`,
    `--listen-client-urls=${clients}`,
    `--advertise-client-urls=${clients}`,
    `--listen-peer-urls=${peers}`,
    `--initial-advertise-peer-urls=${peers}`,
    `--initial-cluster=test=${peers}`,
    // What else writes to the disk would hold up every request. Nothing here has to outlive the machine. The etcd of old servers has no such flag.
    ...(minorOf(version) < 24 ? [] : ['--unsafe-no-fsync']),
  ];
};

/** Of Kubernetes: 36 of 1.36.3. */
const minorOf = (version: string): number => Number(version.split('.')[1] ?? 0);

interface ApiServer {
  readonly folder: string;
  readonly ports: Ports;
  readonly pki: Pki;
  readonly audit: boolean;
  readonly runsPods: boolean;
}

const WITHOUT_PODS = [
  '--bind-address=127.0.0.1',
  '--advertise-address=127.0.0.1',
  '--endpoint-reconciler-type=none',
  // It would refuse every Pod, since nothing there creates the default ServiceAccounts.
  '--disable-admission-plugins=ServiceAccount',
];

const WITH_PODS = [
  '--bind-address=0.0.0.0',
  `--advertise-address=${NETWORK.node}`,
  '--endpoint-reconciler-type=lease',
  '--kubelet-preferred-address-types=InternalIP',
];

/** Writes the audit policy when one is needed. */
export const apiServerFlags = ({ folder, ports, pki, audit, runsPods }: ApiServer): readonly string[] => {
  const { crt, key } = pki.certificate('apiserver');
  return [
    `--etcd-servers=http://127.0.0.1:${ports.etcd}`,
    ...(runsPods ? WITH_PODS : WITHOUT_PODS),
    `--secure-port=${ports.api}`,
    `--cert-dir=${folder}`,
    `--tls-cert-file=${crt}`,
    `--tls-private-key-file=${key}`,
    `--client-ca-file=${pki.ca}`,
    '--service-account-issuer=https://localhost/',
    '--api-audiences=https://localhost/',
    `--service-account-key-file=${pki.serviceAccount.publicKey}`,
    `--service-account-signing-key-file=${pki.serviceAccount.privateKey}`,
    `--service-cluster-ip-range=${NETWORK.services}`,
    '--authorization-mode=RBAC',
    ...(audit ? auditFlags(folder) : []),
  ];
};

const auditFlags = (folder: string): readonly string[] => {
  const policy = join(folder, 'audit-policy.yaml');
  writeFileSync(policy, AUDIT_POLICY);
  return [`--audit-policy-file=${policy}`, `--audit-log-path=${auditFile(folder)}`, '--audit-log-mode=blocking'];
};

interface ControllerManager {
  readonly folder: string;
  readonly ports: Ports;
  readonly pki: Pki;
  readonly version: string;
  readonly kubeconfig: string;
  readonly controllers: readonly string[];
  readonly runsPods: boolean;
}

/** A node that has not been heard of for so long is marked as not Ready, s: less than the default of 50, so that tests need not wait as long. */
export const NODE_GRACE_SECONDS = 12;

export const controllerFlags = (manager: ControllerManager): readonly string[] => {
  const { folder, ports, pki, version, kubeconfig, controllers, runsPods } = manager;
  return [
    `--kubeconfig=${kubeconfig}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${ports.controllers}`,
    // Before 1.24 there is a second, plain port, which listens on all interfaces unless it is 0; later the flag is gone.
    ...(minorOf(version) < 24 ? ['--port=0'] : []),
    '--leader-elect=false',
    `--cert-dir=${folder}`,
    '--use-service-account-credentials=true',
    `--service-account-private-key-file=${pki.serviceAccount.privateKey}`,
    `--root-ca-file=${pki.ca}`,
    `--controllers=${controllers.join(',')}`,
    ...(runsPods ? [`--node-monitor-grace-period=${NODE_GRACE_SECONDS}s`, '--node-monitor-period=1s'] : []),
  ];
};
