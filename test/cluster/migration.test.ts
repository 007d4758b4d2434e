import { migrationScenarios } from '../e2e/migration.scenario.ts';

migrationScenarios();
