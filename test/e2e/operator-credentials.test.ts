import { operatorCredentialsScenarios } from './operator-credentials.scenario.ts';

operatorCredentialsScenarios();
