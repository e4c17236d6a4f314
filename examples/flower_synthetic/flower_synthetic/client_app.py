"""A node: reports its client id, trains, and scores models on the client's data."""

from __future__ import annotations

from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from f3ast_tff.flower import tell_partition_id
from flower_synthetic import softmax

app = ClientApp()
app.query("partition_id")(tell_partition_id)


@app.train()
def train(message: Message, context: Context) -> Message:
    """Replies with the model after local training."""
    client, num_clients = int(context.node_config["partition-id"]), num_clients_of(context)
    model = softmax.train(
        message.content["arrays"].to_numpy_ndarrays(),
        client,
        num_clients,
        round_number=int(message.content["config"]["server-round"]),
        seed=int(context.run_config["seed"]),
    )
    x, y = softmax.data(num_clients).train.client(client)
    metrics = {"num-examples": len(y), "loss": softmax.mean_loss(model, x, y)}
    content = RecordDict({"arrays": ArrayRecord(model), "metrics": MetricRecord(metrics)})
    return Message(content, reply_to=message)


@app.evaluate()
def evaluate(message: Message, context: Context) -> Message:
    """Replies with loss and accuracy of the model on the client's test examples."""
    client = int(context.node_config["partition-id"])
    x, y = softmax.data(num_clients_of(context)).test.client(client)
    model = message.content["arrays"].to_numpy_ndarrays()
    metrics = {
        "num-examples": len(y),
        "loss": softmax.mean_loss(model, x, y),
        "accuracy": softmax.accuracy(model, x, y),
    }
    return Message(RecordDict({"metrics": MetricRecord(metrics)}), reply_to=message)


@app.evaluate("loss")
def training_loss(message: Message, context: Context) -> Message:
    """Replies with the loss on the training examples, for methods that select by it."""
    client = int(context.node_config["partition-id"])
    x, y = softmax.data(num_clients_of(context)).train.client(client)
    loss = softmax.mean_loss(message.content["arrays"].to_numpy_ndarrays(), x, y)
    return Message(RecordDict({"metrics": MetricRecord({"loss": loss})}), reply_to=message)


def num_clients_of(context: Context) -> int:
    """Returns N, the number of clients in the app's settings."""
    return int(context.run_config["num-clients"])
