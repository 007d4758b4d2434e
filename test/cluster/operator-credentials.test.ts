import { operatorCredentialsScenarios } from '../e2e/operator-credentials.scenario.ts';

operatorCredentialsScenarios();
