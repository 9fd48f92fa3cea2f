/** The workflow types of the bundle. Callers in any SDK use these names. */
export { changeExporter } from './one-step';
export { fileRemittances } from './file-remittances';
export { dailyReport, extractDocument } from './one-step';
export { onboardExporter } from './onboard-exporter';
export { reconcile } from './reconcile';
export { refreshIrms } from './refresh-irms';
export { updateCredentials } from './update-credentials';
