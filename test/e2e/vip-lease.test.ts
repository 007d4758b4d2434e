import { vipLeaseScenarios } from './vip-lease.scenario.ts';

vipLeaseScenarios();
