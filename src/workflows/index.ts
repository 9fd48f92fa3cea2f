/** The workflow types of the bundle; their names are the contract with callers in any SDK. */
export { fileRemittances } from './file-remittances';
export { collectCertificates } from './collect-certificates';
export { onboardExporter } from './onboard-exporter';
export { refreshIrms } from './refresh-irms';
export { updateCredentials } from './update-credentials';
