import { gitopsScenarios } from '../e2e/gitops.scenario.ts';

gitopsScenarios();
