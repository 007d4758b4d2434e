import { type Connection, connect, identityOf } from '../../adapters/kubernetes/client/connection.ts';
import { loadConfig } from '../../adapters/kubernetes/client/kube-config.ts';

export const OPERATOR_IDENTITY = identityOf({ program: 'routedip-operator', version: '0.0.0', purpose: 'controller' });

/** A connection as the operator has it, by this kubeconfig file. */
export const connectBy = (kubeconfig: string): Connection => connect(loadConfig(kubeconfig), OPERATOR_IDENTITY);
