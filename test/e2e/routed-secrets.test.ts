import { routedSecretScenarios } from './routed-secrets.scenario.ts';

routedSecretScenarios();
