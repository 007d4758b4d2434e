import { tenantScenarios } from './tenants.scenario.ts';

tenantScenarios();
