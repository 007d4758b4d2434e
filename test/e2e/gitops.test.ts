import { gitopsScenarios } from './gitops.scenario.ts';

gitopsScenarios();
