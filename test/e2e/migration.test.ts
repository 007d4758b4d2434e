import { migrationScenarios } from './migration.scenario.ts';

migrationScenarios();
