import ebrc.ApiClient;
import ebrc.ApiException;
import ebrc.api.FilingsApi;
import ebrc.model.FileRequest;
import ebrc.model.Filing;
import ebrc.model.FilingRow;
import ebrc.model.GetFilingProblem;
import ebrc.model.PushMessage;
import java.io.File;

/** Files an invoice with the generated client. Arguments: address, token, exporter, reference, file with the message. */
public class Client {
  public static void main(String[] args) throws Exception {
    ApiClient client = new ApiClient();
    client.updateBaseUri(args[0]);
    client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + args[1]).header("Prefer", "wait=60"));
    FilingsApi filings = new FilingsApi(client);
    PushMessage message = client.getObjectMapper().readValue(new File(args[4]), PushMessage.class);
    Filing filed = filings.callFile(new FileRequest().exporter(args[2]).reference(args[3]).message(message));
    if (filed.getState() != Filing.StateEnum.CERTIFIED) throw new IllegalStateException(filed.getStateText());
    FilingRow row = filings.listRows(args[3], null, null, null, null).getItems().get(0);
    try {
      filings.getFiling("NONE");
      throw new IllegalStateException("an unknown filing was answered");
    } catch (ApiException error) {
      GetFilingProblem problem = client.getObjectMapper().readValue(error.getResponseBody(), GetFilingProblem.class);
      if (problem.getCode() != GetFilingProblem.CodeEnum.UNKNOWN_FILING) throw error;
    }
    System.out.println(args[3] + " " + filed.getState().getValue() + " " + row.geteBRCNumber());
  }
}
