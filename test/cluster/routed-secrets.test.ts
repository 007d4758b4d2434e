import { routedSecretScenarios } from '../e2e/routed-secrets.scenario.ts';

routedSecretScenarios();
