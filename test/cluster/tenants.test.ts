import { tenantScenarios } from '../e2e/tenants.scenario.ts';

tenantScenarios();
